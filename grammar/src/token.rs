//! The tokens of the language. `Display` writes a token as it is spelt in messages.

use logos::{Lexer, Logos};
use std::fmt;
use std::ops::Range;

/// A token with its range of bytes, from the first byte to the byte after the last.
pub type Spanned<'s> = (usize, Token<'s>, usize);

/// Returns whether a word is a keyword. A keyword cannot be the name of an item.
///
/// ```
/// assert!(bnnc_grammar::is_keyword("model"));
/// assert!(!bnnc_grammar::is_keyword("models"));
/// ```
pub fn is_keyword(word: &str) -> bool {
    let mut tokens = Token::lexer(word);
    matches!(tokens.next(), Some(Ok(token)) if token.is_keyword()) && tokens.span().end == word.len()
}

/// A lexical error. A token that was probably intended may replace the faulty text.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum LexicalError {
    /// A character that does not begin any token.
    #[default]
    Stray,
    /// A spelling from another language, with the token for which it stands.
    Foreign(Token<'static>),
    /// A `;`.
    Semicolon,
    /// A string in single quotes.
    SingleQuotes,
    /// A string whose closing quote is missing.
    OpenText,
    /// Digits followed by letters, or a decimal point without digits before it.
    BadNumber,
    /// A `# comment`.
    HashComment,
    /// A `/* comment */`.
    BlockComment,
    /// A letter outside of a-z and A-Z.
    ForeignLetter,
}

fn comment<'s>(lexer: &mut Lexer<'s, Token<'s>>) -> logos::Skip {
    let span = lexer.span();
    lexer.extras.push(span);
    logos::Skip
}

fn inside_quotes<'s>(lexer: &mut Lexer<'s, Token<'s>>) -> &'s str {
    lexer.slice().trim_matches('"')
}

fn foreign(meant: Token<'static>) -> Result<(), LexicalError> {
    Err(LexicalError::Foreign(meant))
}

fn noise(fault: LexicalError) -> Result<(), LexicalError> {
    Err(fault)
}

fn wrong<'s>(fault: LexicalError) -> Result<&'s str, LexicalError> {
    Err(fault)
}

/// The role of a terminal in a message about expected tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalRole {
    /// The terminal begins an item.
    Item,
    /// The terminal begins a statement, and does not have another role.
    Statement,
    /// The terminal is a name, or a keyword that may serve as a name.
    Name,
    /// The terminal is a complete value, or can only begin a value.
    Value,
    /// The terminal continues an expression. Some terminals with this role (`(`, `[`, `-`, `!`) may also begin an expression.
    Operator,
    /// The terminal has its own phrase.
    Mark,
}

/// Returns the phrase for a terminal. Without a phrase of its own, this is the spelling in backquotes.
macro_rules! phrase {
    ($spelling:literal) => {
        concat!("`", $spelling, "`")
    };
    ($spelling:literal, $phrase:literal) => {
        $phrase
    };
}

/// Declares the tokens with a fixed spelling: the role of each token, and its phrase in messages about expected tokens.
macro_rules! tokens {
    ($($(#[$attribute:meta])* $variant:ident $spelling:literal $role:ident $($phrase:literal)?,)*) => {
        /// A token. The text of a number is kept until a node is built. A string is stored without its quotes.
        #[derive(Logos, Clone, Copy, Debug, PartialEq)]
        #[logos(error = LexicalError, extras = Vec<Range<usize>>)]
        #[logos(skip r"[ \t\r\n\f\u{feff}]+")]
        pub enum Token<'s> {
            $($(#[$attribute])* #[doc = concat!("`", $spelling, "`.")] #[token($spelling)] $variant,)*
            /// A name that is not a keyword.
            #[regex("[A-Za-z_][A-Za-z_0-9]*")]
            #[regex(r"[^\x00-\x7f\u{feff}]+", |_| wrong(LexicalError::ForeignLetter))]
            Name(&'s str),
            /// Digits.
            #[regex("[0-9]+")]
            Int(&'s str),
            /// Digits with a point or an exponent.
            #[regex(r"[0-9]+\.[0-9]+([eE][+-]?[0-9]+)?")]
            #[regex(r"[0-9]+[eE][+-]?[0-9]+")]
            #[regex(r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?[A-Za-z_][A-Za-z_0-9]*", |_| wrong(LexicalError::BadNumber))]
            #[regex(r"\.[0-9]+([eE][+-]?[0-9]+)?", |_| wrong(LexicalError::BadNumber))]
            Real(&'s str),
            /// A string in double quotes, on one line, without escapes.
            #[regex(r#""[^"\n]*""#, inside_quotes)]
            #[regex(r#""[^"\n\r,)\]}]*"#, |_| wrong(LexicalError::OpenText))]
            #[regex(r"'[^'\n]*'", |_| wrong(LexicalError::SingleQuotes))]
            Text(&'s str),
            /// A comment, which the lexer does not return as a token.
            #[regex("//[^\n]*", comment, allow_greedy = true)]
            #[regex("#[^\n]*", |_| noise(LexicalError::HashComment), allow_greedy = true)]
            #[regex(r"/\*([^*]|\*+[^*/])*\*+/", |_| noise(LexicalError::BlockComment))]
            Comment,
        }

        impl Token<'static> {
            /// Every token with a fixed spelling, in declaration order.
            pub const FIXED: &'static [Token<'static>] = &[$(Token::$variant,)*];
        }

        impl Token<'_> {
            /// Returns the name of the terminal in the grammar and in [`TERMINALS`]: the spelling of the token, or its class.
            pub fn terminal(&self) -> &'static str {
                match self {
                    $(Token::$variant => $spelling,)*
                    Token::Name(_) => "name",
                    Token::Int(_) => "int",
                    Token::Real(_) => "real",
                    Token::Text(_) => "text",
                    Token::Comment => "//",
                }
            }
        }

        /// Every terminal of the grammar, with its role and the phrase that describes it as the expected token.
        pub static TERMINALS: &[(&str, TerminalRole, &str)] = &[
            $(($spelling, TerminalRole::$role, phrase!($spelling $(, $phrase)?)),)*
            ("name", TerminalRole::Name, "a name"),
            ("int", TerminalRole::Value, "a number"),
            ("real", TerminalRole::Value, "a number"),
            ("text", TerminalRole::Value, "a text"),
        ];
    };
}

tokens! {
    Use "use" Item "an item such as `model` or `data`",
    Const "const" Item "an item such as `model` or `data`",
    Fn "fn" Item "an item such as `model` or `data`",
    Layer "layer" Item "an item such as `model` or `data`",
    Dist "dist" Item "a type",
    Optimiser "optimiser" Item "an item such as `model` or `data`",
    Data "data" Item "an item such as `model` or `data`",
    Model "model" Item "an item such as `model` or `data`",
    Posterior "posterior" Item "an item such as `model` or `data`",
    Infer "infer" Item "an item such as `model` or `data`",
    Compare "compare" Item "an item such as `model` or `data`",
    For "for" Mark,
    In "in" Mark,
    If "if" Value,
    Else "else" Mark,
    Return "return" Statement "a statement",
    True "true" Value "a value",
    False "false" Value "a value",
    Local "local" Name "a name",
    State "state" Name "a name",
    Next "next" Name "a name",
    By "by" Name,
    Of "of" Name,
    On "on" Name,
    OpenParen "(" Operator,
    CloseParen ")" Mark,
    OpenBracket "[" Operator,
    CloseBracket "]" Mark,
    OpenBrace "{" Mark,
    CloseBrace "}" Mark,
    #[token(";", |_| noise(LexicalError::Semicolon))]
    Comma "," Mark,
    Colon ":" Mark,
    ColonColon "::" Mark,
    #[token(":=", |_| foreign(Token::Equals))]
    Equals "=" Mark,
    Tilde "~" Mark,
    Arrow "->" Mark,
    DotDot ".." Mark,
    Dot "." Operator,
    Star "*" Operator,
    Plus "+" Operator "an operator",
    Minus "-" Operator "an operator",
    Slash "/" Operator "an operator",
    At "@" Operator "an operator",
    #[token("**", |_| foreign(Token::Caret))]
    Caret "^" Operator "an operator",
    Less "<" Operator "an operator",
    LessEqual "<=" Operator "an operator",
    Greater ">" Operator "an operator",
    GreaterEqual ">=" Operator "an operator",
    EqualEqual "==" Operator "an operator",
    NotEqual "!=" Operator "an operator",
    #[token("&", |_| foreign(Token::AndAnd))]
    AndAnd "&&" Operator "an operator",
    #[token("|", |_| foreign(Token::OrOr))]
    OrOr "||" Operator "an operator",
    Not "!" Operator "an operator",
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Name(text) | Token::Int(text) | Token::Real(text) => f.write_str(text),
            Token::Text(text) => write!(f, "\"{text}\""),
            other => f.write_str(other.terminal()),
        }
    }
}

impl Token<'_> {
    /// Returns whether the token begins an item.
    pub fn begins_item(&self) -> bool {
        use Token::{Compare, Const, Data, Dist, Fn, Infer, Layer, Model, Optimiser, Posterior, Use};
        matches!(
            self,
            Use | Const | Fn | Layer | Dist | Optimiser | Data | Model | Posterior | Infer | Compare
        )
    }

    /// Returns whether the token is a soft keyword: a keyword in some places and a name everywhere else.
    pub fn is_soft_keyword(&self) -> bool {
        use Token::{By, Local, Next, Of, On, State};
        matches!(self, By | Local | Next | Of | On | State)
    }

    /// Returns whether the token is a keyword everywhere outside option blocks.
    pub fn is_keyword(&self) -> bool {
        use Token::{Else, False, For, If, In, Return, True};
        self.begins_item() || matches!(self, For | In | If | Else | Return | True | False)
    }

    /// Returns whether the token may stand where a name is expected.
    pub fn is_name(&self) -> bool {
        matches!(self, Token::Name(_)) || self.is_soft_keyword()
    }

    /// Returns whether the token is a complete literal value.
    pub fn is_literal(&self) -> bool {
        matches!(
            self,
            Token::Int(_) | Token::Real(_) | Token::Text(_) | Token::True | Token::False
        )
    }

    /// Returns whether an expression can end with this token.
    pub fn ends_value(&self) -> bool {
        self.is_name() || self.is_literal() || self.is_closer()
    }

    /// Returns whether the token opens a bracket.
    pub fn is_opener(&self) -> bool {
        self.closer().is_some()
    }

    /// Returns whether the token closes a bracket.
    pub fn is_closer(&self) -> bool {
        matches!(self, Token::CloseParen | Token::CloseBracket | Token::CloseBrace)
    }

    /// Returns the bracket that closes this one, or `None` if this token does not open a bracket.
    pub fn closer(&self) -> Option<Token<'static>> {
        match self {
            Token::OpenParen => Some(Token::CloseParen),
            Token::OpenBracket => Some(Token::CloseBracket),
            Token::OpenBrace => Some(Token::CloseBrace),
            _ => None,
        }
    }
}
