//! The codes of the syntax errors, with their long explanations.

use bnnc_base::diagnostic::Code;

/// All syntax codes, in the order of their ids.
pub static CODES: &[&Code] = &[
    &UNEXPECTED_CHARACTER,
    &OPEN_TEXT,
    &BAD_NUMBER,
    &NUMBER_TOO_LARGE,
    &FOREIGN_SPELLING,
    &UNCLOSED,
    &UNOPENED,
    &UNEXPECTED,
    &SIDE_BY_SIDE,
    &COMPARISON_CHAIN,
    &TOO_DEEP,
    &KEYWORD_AS_NAME,
    &OUTSIDE_ITEM,
];

/// A character that does not begin any token.
pub static UNEXPECTED_CHARACTER: Code = Code {
    id: "E0101",
    title: "unexpected character",
    explain: "\
The language does not use this character. Names consist of the letters `a` to `z` and `A` to `Z`, digits and `_`.
Spell out Greek letters (`sigma`). The usual cause is a word processor that replaced plain characters by long
dashes or curly quotes.

Wrong:

    σ ~ HalfNormal(1)

Right:

    sigma ~ HalfNormal(1)
",
};

/// A string without its closing quote.
pub static OPEN_TEXT: Code = Code {
    id: "E0102",
    title: "string without a closing quote",
    explain: "\
A string begins with `\"` and ends with the next `\"` on the same line. Escape sequences do not exist: a backslash
is an ordinary character, and a string cannot contain a double quote.

Wrong:

    data d = csv(\"data/d.csv)

Right:

    data d = csv(\"data/d.csv\")
",
};

/// Digits followed by letters, or a decimal point without digits before it.
pub static BAD_NUMBER: Code = Code {
    id: "E0103",
    title: "not a number",
    explain: "\
A number consists of digits, an optional decimal point with digits on both sides, and an optional exponent: `3`,
`0.5`, `1e-3`. Multiplication needs `*`.

Wrong:

    y = 2x + .5

Right:

    y = 2 * x + 0.5
",
};

/// A number that overflows a 64-bit integer or a double.
pub static NUMBER_TOO_LARGE: Code = Code {
    id: "E0104",
    title: "number too large",
    explain: "\
The largest integer is 9223372036854775807 (64 bits). The largest real is about 1.8e308 (double precision).

Wrong:

    const big = 1e999

Right:

    const big = 1e300
",
};

/// A spelling that is common in other languages.
pub static FOREIGN_SPELLING: Code = Code {
    id: "E0105",
    title: "syntax of another language",
    explain: "\
The program uses the syntax of another language. Here `=` defines a name (not `:=`, and without `let`), `^` is the
power operator (not `**`), `&&` and `||` are the logical operators, strings stand in double quotes, comments begin
with `//`, and a statement ends at the end of its line, without `;`.

Wrong:

    let variance := sigma ** 2;

Right:

    variance = sigma ^ 2
",
};

/// A bracket without its partner.
pub static UNCLOSED: Code = Code {
    id: "E0106",
    title: "bracket never closed",
    explain: "\
Every `(`, `[` and `{` needs a matching `)`, `]` or `}`. The message marks the bracket that is not closed, and the
last place where the closing bracket could stand.

Wrong:

    y ~ Normal(mu, exp(s)

Right:

    y ~ Normal(mu, exp(s))
",
};

/// A closing bracket without an opening bracket.
pub static UNOPENED: Code = Code {
    id: "E0107",
    title: "bracket never opened",
    explain: "\
This `)`, `]` or `}` does not have a matching opening bracket.

Wrong:

    y ~ Normal(mu, sigma))

Right:

    y ~ Normal(mu, sigma)
",
};

/// A token that the grammar does not allow at its place.
pub static UNEXPECTED: Code = Code {
    id: "E0108",
    title: "an unexpected word or symbol",
    explain: "\
The program is correct up to this place, but the marked word or symbol cannot come next. The message lists what is
allowed here.

Wrong:

    model M(x real) -> y: real { }

Right:

    model M(x: real) -> y: real { }

An `if` inside a larger expression needs parentheses: `1 + (if c { a } else { b })`.
",
};

/// Two adjacent values without an operator between them.
pub static SIDE_BY_SIDE: Code = Code {
    id: "E0109",
    title: "two values side by side",
    explain: "\
Two values follow each other on one line, without an operator. Multiplication needs `*`, commas separate list
elements and arguments, and every statement needs its own line. Options in `{ }` are separated by commas or line
breaks.

Wrong:

    y = 2 x

Right:

    y = 2 * x
",
};

/// A chain of comparisons, such as `a < b < c`.
pub static COMPARISON_CHAIN: Code = Code {
    id: "E0110",
    title: "chain of comparisons",
    explain: "\
The result of a comparison is a Boolean, which cannot be compared with a number.

Wrong:

    inside = 0 < x < 1

Right:

    inside = 0 < x && x < 1
",
};

/// An expression that is nested too deeply for readers and for the stack.
pub static TOO_DEEP: Code = Code {
    id: "E0111",
    title: "nested too deeply",
    explain: "\
Brackets may be nested 200 levels deep, and operations 500 levels deep, where `a + b + c` counts one level for each
operator. Hand-written programs stay far below these limits. In a generated program, give names to subexpressions,
or use a reduction over a range.

Wrong:

    total = w[0] + w[1] + w[2] + .. (and so on, a thousand times)

Right:

    total = sum(w[i] for i in 0..1000)
",
};

/// A keyword where a name is expected.
pub static KEYWORD_AS_NAME: Code = Code {
    id: "E0112",
    title: "a keyword used as a name",
    explain: "\
The words `use const fn layer dist optimiser data model posterior infer compare for in if else return true false`
are keywords and cannot be used as names. Only the option blocks of `data` and `infer` allow these words, as names of
columns and options.

Wrong:

    data = x + 1

Right:

    shifted = x + 1
",
};

/// A statement outside any item.
pub static OUTSIDE_ITEM: Code = Code {
    id: "E0113",
    title: "statement outside of an item",
    explain: "\
A file is a list of items. Each item begins with one of the keywords `use const fn layer dist optimiser data model
posterior infer compare`. Statements (`x = ..`, `x ~ ..`, `for`, `return`) belong inside the braces of an item.

Wrong:

    sigma ~ HalfNormal(1)
    model M(x: real) -> y: real { y ~ Normal(x, sigma) }

Right:

    model M(x: real) -> y: real {
      sigma ~ HalfNormal(1)
      y ~ Normal(x, sigma)
    }
",
};
