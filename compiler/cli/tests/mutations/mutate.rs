//! Makes random changes to texts and bytes.

/// The random number generator SplitMix64 (Steele, Lea and Flood 2014).
pub struct Random(u64);

impl Random {
    /// Creates the generator of the random numbers for one mutant.
    pub fn new(seed: u64, mutant: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ mutant.wrapping_mul(0xd134_2543_de82_ef95))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a random number below `bound`. A bound of 0 is treated as 1.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    pub fn of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

/// Numbers at the ends of the accepted ranges, and beyond these ends.
pub const NUMBERS: &[&str] = &[
    "0",
    "-1",
    "1",
    "2",
    "-0.0",
    "0.5",
    "1e308",
    "1e-308",
    "-1e308",
    "1e400",
    "nan",
    "inf",
    "2147483647",
    "2147483648",
    "4294967296",
    "9223372036854775807",
    "18446744073709551616",
    "1e9",
    "65536",
    "-2147483649",
    "0.1",
    "999999999999",
];

/// Tokens of the language and of the data formats.
const TOKENS: &[&str] = &[
    "real",
    "positive",
    "unit",
    "int",
    "count",
    "index(3)",
    "bool",
    "simplex(3)",
    "ordered(3)",
    "fn",
    "dist",
    "~",
    "=",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    "->",
    "if",
    "else",
    "for",
    "in",
    "..",
    "+",
    "-",
    "*",
    "/",
    "^",
    "@",
    "==",
    "<",
    "&&",
    "!",
    "sum",
    "exp",
    "log",
    "softmax",
    "cholesky",
    "Normal",
    "Flat",
    "Dense(3)",
    "Mixture",
    "Dirichlet",
    "\"",
    "\n",
    "return",
    "model",
    "posterior",
    "infer",
    "data",
    "const",
    "layer",
    "local",
    "fixed(1)",
    "true",
    "null",
    ":",
    "é",
    "\u{202e}",
    "\0",
    "\t",
    "row",
    ";",
];

fn words(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices() {
        let inside = c.is_alphanumeric() || c == '_' || c == '.';
        match (start, inside) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                found.push((from, at));
                start = None;
            }
            _ => {}
        }
    }
    found.extend(start.map(|from| (from, text.len())));
    found
}

fn replaced(text: &str, (from, to): (usize, usize), with: &str) -> String {
    format!("{}{with}{}", &text[..from], &text[to..])
}

/// Returns a text with one to four random changes. Some changes insert lines or words of `other`.
pub fn text(random: &mut Random, text: &str, other: &str) -> String {
    let mut mutant = text.to_owned();
    for _ in 0..1 + random.below(4) {
        mutant = once(random, &mutant, other);
    }
    mutant
}

fn once(random: &mut Random, text: &str, other: &str) -> String {
    let places = words(text);
    let lines: Vec<&str> = text.lines().collect();
    if places.is_empty() || lines.is_empty() {
        return (random.of(TOKENS)).to_owned();
    }
    let place = random.of(&places);
    let numbers: Vec<(usize, usize)> = places
        .iter()
        .copied()
        .filter(|(from, _)| text[*from..].starts_with(|c: char| c.is_ascii_digit()))
        .collect();
    match random.below(9) {
        0 if !numbers.is_empty() => {
            let place = random.of(&numbers);
            replaced(text, place, random.of(NUMBERS))
        }
        1 => replaced(text, place, random.of(TOKENS)),
        2 => replaced(text, place, ""),
        3 => {
            let (from, to) = random.of(&places);
            let borrowed = text[from..to].to_owned();
            replaced(text, place, &borrowed)
        }
        4 => {
            let places = words(other);
            let borrowed = places
                .get(random.below(places.len()))
                .map_or("", |(from, to)| &other[*from..*to]);
            replaced(text, place, borrowed)
        }
        5 => {
            let mut lines = lines.clone();
            let at = random.below(lines.len());
            lines.remove(at);
            lines.join("\n")
        }
        6 => {
            let mut lines = lines.clone();
            let (from, to) = (random.below(lines.len()), random.below(lines.len() + 1));
            lines.insert(to, lines[from]);
            lines.join("\n")
        }
        7 => {
            let borrowed: Vec<&str> = other.lines().collect();
            let mut lines = lines.clone();
            let at = random.below(lines.len() + 1);
            lines.insert(
                at,
                borrowed.get(random.below(borrowed.len())).copied().unwrap_or(""),
            );
            lines.join("\n")
        }
        _ => replaced(text, (place.1, place.1), random.of(TOKENS)),
    }
}

/// Returns bytes with one to four random changes.
pub fn bytes(random: &mut Random, bytes: &[u8]) -> Vec<u8> {
    let mut mutant = bytes.to_vec();
    for _ in 0..1 + random.below(4) {
        if mutant.is_empty() {
            return mutant;
        }
        let at = random.below(mutant.len());
        match random.below(7) {
            0 | 1 => mutant[at] ^= 1 << random.below(8),
            2 => mutant[at] = random.of(&[0, 0xff, 0x7f, 0x80, b'0', b'9', b'-', b',', b'\n', b'"']),
            3 => mutant.truncate(at),
            4 => {
                let end = (at + random.below(64)).min(mutant.len());
                mutant.drain(at..end);
            }
            5 => {
                let end = (at + random.below(64)).min(mutant.len());
                let copy = mutant[at..end].to_vec();
                mutant.splice(at..at, copy);
            }
            _ => {
                let end = (at + 8).min(mutant.len());
                mutant[at..end].fill(random.of(&[0, 0xff, 0x7f]));
            }
        }
    }
    mutant
}
