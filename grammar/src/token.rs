//! The words of the language; `Display` gives the spelling that messages use.

use logos::{Lexer, Logos};
use std::fmt;
use std::ops::Range;

/// A token and the bytes it covers.
pub type Spanned<'s> = (usize, Token<'s>, usize);

/// Returns whether a word is a keyword, which no item can have as its name.
///
/// ```
/// assert!(bnnc_grammar::is_keyword("model"));
/// assert!(!bnnc_grammar::is_keyword("models"));
/// ```
pub fn is_keyword(word: &str) -> bool {
    let mut tokens = Token::lexer(word);
    matches!(tokens.next(), Some(Ok(token)) if token.is_keyword()) && tokens.span().end == word.len()
}

/// What is wrong with a stretch of text; the token that carries it stands in for what was meant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Fault {
    /// A character that begins no token.
    #[default]
    Stray,
    /// A spelling from another language, and what it stands for.
    Foreign(Token<'static>),
    /// A `;`.
    Semicolon,
    /// A text in single quotes.
    SingleQuotes,
    /// A text whose closing quote is missing.
    OpenText,
    /// Digits followed by letters, or a number without digits before its point.
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

fn foreign(meant: Token<'static>) -> Result<(), Fault> {
    Err(Fault::Foreign(meant))
}

fn noise(fault: Fault) -> Result<(), Fault> {
    Err(fault)
}

fn wrong<'s>(fault: Fault) -> Result<&'s str, Fault> {
    Err(fault)
}

macro_rules! tokens {
    ($($(#[$attribute:meta])* $variant:ident $spelling:tt,)*) => {
        /// A token. Numbers stay text until a node is built; a text is without its quotes.
        #[derive(Logos, Clone, Copy, Debug, PartialEq)]
        #[logos(error = Fault, extras = Vec<Range<usize>>)]
        #[logos(skip r"[ \t\r\n\f\u{feff}]+")]
        pub enum Token<'s> {
            $($(#[$attribute])* #[doc = concat!("`", $spelling, "`.")] #[token($spelling)] $variant,)*
            /// A name that is not a keyword.
            #[regex("[A-Za-z_][A-Za-z_0-9]*")]
            #[regex(r"[^\x00-\x7f\u{feff}]+", |_| wrong(Fault::ForeignLetter))]
            Name(&'s str),
            /// Digits.
            #[regex("[0-9]+")]
            Int(&'s str),
            /// Digits with a point or an exponent.
            #[regex(r"[0-9]+\.[0-9]+([eE][+-]?[0-9]+)?")]
            #[regex(r"[0-9]+[eE][+-]?[0-9]+")]
            #[regex(r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?[A-Za-z_][A-Za-z_0-9]*", |_| wrong(Fault::BadNumber))]
            #[regex(r"\.[0-9]+([eE][+-]?[0-9]+)?", |_| wrong(Fault::BadNumber))]
            Real(&'s str),
            /// Text in double quotes, on one line, without escapes.
            #[regex(r#""[^"\n]*""#, inside_quotes)]
            #[regex(r#""[^"\n\r,)\]}]*"#, |_| wrong(Fault::OpenText))]
            #[regex(r"'[^'\n]*'", |_| wrong(Fault::SingleQuotes))]
            Text(&'s str),
            /// A comment; never leaves the lexer.
            #[regex("//[^\n]*", comment, allow_greedy = true)]
            #[regex("#[^\n]*", |_| noise(Fault::HashComment), allow_greedy = true)]
            #[regex(r"/\*([^*]|\*+[^*/])*\*+/", |_| noise(Fault::BlockComment))]
            Comment,
        }

        impl Token<'static> {
            /// Every token that has one spelling, in the order of their declaration.
            pub const FIXED: &'static [Token<'static>] = &[$(Token::$variant,)*];
        }

        impl Token<'_> {
            /// How the grammar and the table of expectations call it: its spelling, or its class.
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
    };
}

tokens! {
    Use "use",
    Const "const",
    Fn "fn",
    Layer "layer",
    Dist "dist",
    Optimiser "optimiser",
    Data "data",
    Model "model",
    Posterior "posterior",
    Infer "infer",
    Compare "compare",
    For "for",
    In "in",
    If "if",
    Else "else",
    Return "return",
    True "true",
    False "false",
    Local "local",
    State "state",
    Next "next",
    By "by",
    Of "of",
    On "on",
    OpenParen "(",
    CloseParen ")",
    OpenBracket "[",
    CloseBracket "]",
    OpenBrace "{",
    CloseBrace "}",
    #[token(";", |_| noise(Fault::Semicolon))]
    Comma ",",
    Colon ":",
    ColonColon "::",
    #[token(":=", |_| foreign(Token::Equals))]
    Equals "=",
    Tilde "~",
    Arrow "->",
    DotDot "..",
    Dot ".",
    Star "*",
    Plus "+",
    Minus "-",
    Slash "/",
    At "@",
    #[token("**", |_| foreign(Token::Caret))]
    Caret "^",
    Less "<",
    LessEqual "<=",
    Greater ">",
    GreaterEqual ">=",
    EqualEqual "==",
    NotEqual "!=",
    #[token("&", |_| foreign(Token::AndAnd))]
    AndAnd "&&",
    #[token("|", |_| foreign(Token::OrOr))]
    OrOr "||",
    Not "!",
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
    /// Whether it begins an item.
    pub fn begins_item(&self) -> bool {
        use Token::{Compare, Const, Data, Dist, Fn, Infer, Layer, Model, Optimiser, Posterior, Use};
        matches!(
            self,
            Use | Const | Fn | Layer | Dist | Optimiser | Data | Model | Posterior | Infer | Compare
        )
    }

    /// Whether it is a keyword in some places and a name in all others.
    pub fn is_soft_keyword(&self) -> bool {
        use Token::{By, Local, Next, Of, On, State};
        matches!(self, By | Local | Next | Of | On | State)
    }

    /// Whether it is a keyword everywhere outside of option blocks.
    pub fn is_keyword(&self) -> bool {
        use Token::{Else, False, For, If, In, Return, True};
        self.begins_item() || matches!(self, For | In | If | Else | Return | True | False)
    }

    /// Whether it may stand where a name is wanted.
    pub fn is_name(&self) -> bool {
        matches!(self, Token::Name(_)) || self.is_soft_keyword()
    }

    /// Whether it is a whole value by itself.
    pub fn is_literal(&self) -> bool {
        matches!(
            self,
            Token::Int(_) | Token::Real(_) | Token::Text(_) | Token::True | Token::False
        )
    }

    /// Whether an expression can end with it.
    pub fn ends_value(&self) -> bool {
        self.is_name() || self.is_literal() || self.is_closer()
    }

    /// Whether it opens a bracket.
    pub fn is_opener(&self) -> bool {
        self.closer().is_some()
    }

    /// Whether it closes a bracket.
    pub fn is_closer(&self) -> bool {
        matches!(self, Token::CloseParen | Token::CloseBracket | Token::CloseBrace)
    }

    /// The bracket that closes this one.
    pub fn closer(&self) -> Option<Token<'static>> {
        match self {
            Token::OpenParen => Some(Token::CloseParen),
            Token::OpenBracket => Some(Token::CloseBracket),
            Token::OpenBrace => Some(Token::CloseBrace),
            _ => None,
        }
    }
}
