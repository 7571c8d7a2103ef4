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
No part of the language begins with this character. Names consist of the letters `a` to
`z` and `A` to `Z`, of digits and of `_`; Greek letters are written out; there is no `%`, `$` or `?`. Characters
that a word processor puts in place of plain ones (a long dash, curly quotes) are the usual cause.

Wrong:

    σ ~ HalfNormal(1)

Right:

    sigma ~ HalfNormal(1)
",
};

/// A string without its closing quote.
pub static OPEN_TEXT: Code = Code {
    id: "E0102",
    title: "text without a closing quote",
    explain: "\
A text begins with `\"` and ends with the next `\"` on the same line. There are no escapes: a backslash is a
backslash, and a text holds no double quote.

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
A number is digits, then perhaps a point with digits on both sides, then perhaps an exponent: `3`, `0.5`, `1e-3`.
A product is written with `*`.

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
Integers have 64 bits and reals are doubles, so an integer goes to 9223372036854775807 and a real to about 1.8e308.

Wrong:

    const big = 1e999

Right:

    const big = 1e300
",
};

/// A spelling that is common in other languages.
pub static FOREIGN_SPELLING: Code = Code {
    id: "E0105",
    title: "a spelling of another language",
    explain: "\
The program uses a spelling that other languages have for something that is written differently here: `=` defines
(not `:=`, and without `let`), `^` is the power (not `**`), `&&` and `||` are the logical operators, a text stands
in double quotes, a comment begins with `//`, and a statement ends with its line, without `;`.

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
Each `(`, `[` and `{` needs its `)`, `]` or `}`. The first place shown is the bracket that stays open, the second
is where the closing bracket was expected at the latest.

Wrong:

    y ~ Normal(mu, exp(s)

Right:

    y ~ Normal(mu, exp(s))
",
};

/// A closing bracket without an opening one.
pub static UNOPENED: Code = Code {
    id: "E0107",
    title: "bracket never opened",
    explain: "\
A `)`, `]` or `}` stands where no bracket of its kind is open.

Wrong:

    y ~ Normal(mu, sigma))

Right:

    y ~ Normal(mu, sigma)
",
};

/// A token that does not fit the grammar at its place.
pub static UNEXPECTED: Code = Code {
    id: "E0108",
    title: "an unexpected word or symbol",
    explain: "\
The program is correct up to this place, but the next word or symbol cannot follow. The message lists what can.

Wrong:

    model M(x real) -> y: real { }

Right:

    model M(x: real) -> y: real { }

An `if` inside a larger expression needs parentheses: `1 + (if c { a } else { b })`.
",
};

/// Two values side by side.
pub static SIDE_BY_SIDE: Code = Code {
    id: "E0109",
    title: "two values side by side",
    explain: "\
Two values follow each other on one line. A product needs its `*`, elements of a list and arguments need commas,
and each statement stands on its own line; settings in `{ }` stand on their own lines or have commas between them.

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
A comparison has two sides and gives true or false, which cannot be compared with a number again.

Wrong:

    inside = 0 < x < 1

Right:

    inside = 0 < x && x < 1
",
};

/// An expression whose nesting is too deep for a reader and for the stack.
pub static TOO_DEEP: Code = Code {
    id: "E0111",
    title: "nested too deep",
    explain: "\
Brackets may be nested 200 deep, and the operations of one expression 500 deep; a chain `a + b + c` counts one for
each operator. Programs that are written by hand never come near; programs that are generated should give names to
parts, or use a reduction over a range.

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
cannot name anything. They are names only inside the option blocks of `data` and `infer`, where columns and options
may be called anything.

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
A file is a list of items, each of which begins with one of the words `use const fn layer dist optimiser data model
posterior infer compare`. Statements (`x = ..`, `x ~ ..`, `for`, `return`) stand inside the braces of an item.

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
