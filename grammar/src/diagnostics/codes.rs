//! The codes of the syntax errors, with their long explanations.

use bnnc_base::codes;

codes! {
    /// A character that does not begin any token.
    pub UNEXPECTED_CHARACTER = "E0101", "unexpected character":
        "\
         The language does not use this character. Names consist of the letters `a` to `z` and `A` to `Z`, digits and `_`.
         Spell out Greek letters (`sigma`). The usual cause is a word processor that replaced plain characters by long
         dashes or curly quotes.
         
         Wrong:
         
         σ ~ HalfNormal(1)
         
         Right:
         
         sigma ~ HalfNormal(1)
         ";

    /// A string without its closing quote.
    pub OPEN_TEXT = "E0102", "string without a closing quote":
        "\
         A string begins with `\"` and ends with the next `\"` on the same line. Escape sequences do not exist: a backslash
         is an ordinary character, and a string cannot contain a double quote.
         
         Wrong:
         
         data d = csv(\"data/d.csv)
         
         Right:
         
         data d = csv(\"data/d.csv\")
         ";

    /// Digits followed by letters, or a decimal point without digits before it.
    pub BAD_NUMBER = "E0103", "not a number":
        "\
         A number consists of digits, an optional decimal point with digits on both sides, and an optional exponent: `3`,
         `0.5`, `1e-3`. Multiplication needs `*`.
         
         Wrong:
         
         y = 2x + .5
         
         Right:
         
         y = 2 * x + 0.5
         ";

    /// A number that overflows a 64-bit integer or a double.
    pub NUMBER_TOO_LARGE = "E0104", "number too large":
        "\
         The largest integer is 9223372036854775807 (64 bits). The largest real is about 1.8e308 (double precision).
         
         Wrong:
         
         const big = 1e999
         
         Right:
         
         const big = 1e300
         ";

    /// A spelling that is common in other languages.
    pub FOREIGN_SPELLING = "E0105", "syntax of another language":
        "\
         The program uses the syntax of another language. Here `=` defines a name (not `:=`, and without `let`), `^` is the
         power operator (not `**`), `&&` and `||` are the logical operators, strings stand in double quotes, comments begin
         with `//`, and a statement ends at the end of its line, without `;`.
         
         Wrong:
         
         let variance := sigma ** 2;
         
         Right:
         
         variance = sigma ^ 2
         ";

    /// A bracket without its partner.
    pub UNCLOSED = "E0106", "bracket never closed":
        "\
         Every `(`, `[` and `{` needs a matching `)`, `]` or `}`. The message marks the bracket that is not closed, and the
         last place where the closing bracket could stand.
         
         Wrong:
         
         y ~ Normal(mu, exp(s)
         
         Right:
         
         y ~ Normal(mu, exp(s))
         ";

    /// A closing bracket without an opening bracket.
    pub UNOPENED = "E0107", "bracket never opened":
        "\
         This `)`, `]` or `}` does not have a matching opening bracket.
         
         Wrong:
         
         y ~ Normal(mu, sigma))
         
         Right:
         
         y ~ Normal(mu, sigma)
         ";

    /// A token that the grammar does not allow at its place.
    pub UNEXPECTED = "E0108", "an unexpected word or symbol":
        "\
         The program is correct up to this place, but the marked word or symbol cannot come next. The message lists what is
         allowed here.
         
         Wrong:
         
         model M(x real) -> y: real { }
         
         Right:
         
         model M(x: real) -> y: real { }
         
         An `if` inside a larger expression needs parentheses: `1 + (if c { a } else { b })`.
         ";

    /// Two adjacent values without an operator between them.
    pub SIDE_BY_SIDE = "E0109", "two values side by side":
        "\
         Two values follow each other on one line, without an operator. Multiplication needs `*`, commas separate list
         elements and arguments, and every statement needs its own line. Options in `{ }` are separated by commas or line
         breaks.
         
         Wrong:
         
         y = 2 x
         
         Right:
         
         y = 2 * x
         ";

    /// A chain of comparisons, such as `a < b < c`.
    pub COMPARISON_CHAIN = "E0110", "chain of comparisons":
        "\
         The result of a comparison is a Boolean, which cannot be compared with a number.
         
         Wrong:
         
         inside = 0 < x < 1
         
         Right:
         
         inside = 0 < x && x < 1
         ";

    /// An expression that is nested too deeply for readers and for the stack.
    pub TOO_DEEP = "E0111", "nested too deeply":
        "\
         Brackets may be nested 200 levels deep, and operations 500 levels deep, where `a + b + c` counts one level for each
         operator. Hand-written programs stay far below these limits. In a generated program, give names to subexpressions,
         or use a reduction over a range.
         
         Wrong:
         
         total = w[0] + w[1] + w[2] + .. (and so on, a thousand times)
         
         Right:
         
         total = sum(w[i] for i in 0..1000)
         ";

    /// A keyword where a name is expected.
    pub KEYWORD_AS_NAME = "E0112", "a keyword used as a name":
        "\
         The words `use const fn layer dist optimiser data model posterior infer compare for in if else return true false`
         are keywords and cannot be used as names. Only the option blocks of `data` and `infer` allow these words, as names of
         columns and options.
         
         Wrong:
         
         data = x + 1
         
         Right:
         
         shifted = x + 1
         ";

    /// A statement outside any item.
    pub OUTSIDE_ITEM = "E0113", "statement outside of an item":
        "\
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
         ";
}
