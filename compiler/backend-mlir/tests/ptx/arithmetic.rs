//! What instructions of PTX do to numbers, as its manual says.

/// The type of an instruction: how its operands are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    Predicate,
    Bits(u32),
    Unsigned(u32),
    Signed(u32),
    Float(u32),
}

impl Type {
    pub fn from_name(name: &str) -> Option<Type> {
        if name == "pred" {
            return Some(Type::Predicate);
        }
        let (letter, width) = name.split_at_checked(1)?;
        let width = width.parse().ok()?;
        match letter {
            "b" => Some(Type::Bits(width)),
            "u" => Some(Type::Unsigned(width)),
            "s" => Some(Type::Signed(width)),
            "f" => Some(Type::Float(width)),
            _ => None,
        }
    }

    pub fn bytes(self) -> usize {
        self.width() as usize / 8
    }

    fn width(self) -> u32 {
        match self {
            Type::Predicate => 8,
            Type::Bits(width) | Type::Unsigned(width) | Type::Signed(width) | Type::Float(width) => width,
        }
    }

    fn fit(self, value: u64) -> u64 {
        match self {
            Type::Predicate => value & 1,
            _ => value & (u64::MAX >> (64 - self.width())),
        }
    }

    fn signed(self, value: u64) -> i64 {
        let spare = 64 - self.width();
        ((value << spare) as i64) >> spare
    }
}

trait Real: Copy + PartialOrd {
    fn from_bits(bits: u64) -> Self;
    fn bits(self) -> u64;
    fn apply(name: &str, x: &[Self]) -> Option<Self>;
}

macro_rules! real {
    ($real:ident $bits:ident) => {
        impl Real for $real {
            fn from_bits(bits: u64) -> $real {
                $real::from_bits(bits as $bits)
            }
            fn bits(self) -> u64 {
                u64::from(self.to_bits())
            }
            fn apply(name: &str, x: &[$real]) -> Option<$real> {
                Some(match name {
                    "add" => x[0] + x[1],
                    "sub" => x[0] - x[1],
                    "mul" => x[0] * x[1],
                    "div" => x[0] / x[1],
                    "fma" => x[0].mul_add(x[1], x[2]),
                    "sqrt" => x[0].sqrt(),
                    "rcp" => 1.0 / x[0],
                    "neg" => -x[0],
                    "abs" => x[0].abs(),
                    "copysign" => x[1].copysign(x[0]),
                    "max" => x[0].max(x[1]),
                    "min" => x[0].min(x[1]),
                    _ => return None,
                })
            }
        }
    };
}

real!(f32 u32);
real!(f64 u64);

/// The result of an instruction that computes, or `None` where it is not known here.
pub fn evaluate(name: &str, parts: &[&str], ty: Type, x: &[u64]) -> Option<u64> {
    let has = |part: &str| parts.contains(&part);
    match name {
        "mov" | "cvta" => Some(x[0]),
        "cvt" => convert(parts, x[0]),
        "setp" => Some(u64::from(compare(parts, ty, x)?)),
        "selp" => Some(if x[2] & 1 == 1 { x[0] } else { x[1] }),
        _ if (name == "max" || name == "min") && has("NaN") => {
            let nan = |bits: u64| match ty {
                Type::Float(32) => f32::from_bits(bits as u32).is_nan(),
                _ => f64::from_bits(bits).is_nan(),
            };
            let not_a_number = x.iter().find(|bits| nan(**bits));
            not_a_number.copied().or_else(|| float(name, ty, x))
        }
        _ if matches!(ty, Type::Float(_)) => float(name, ty, x),
        "mul" | "mad" if has("wide") => {
            let wide = Type::Bits(2 * ty.width());
            let product = match ty {
                Type::Signed(_) => ty.signed(x[0]).wrapping_mul(ty.signed(x[1])) as u64,
                _ => ty.fit(x[0]).wrapping_mul(ty.fit(x[1])),
            };
            Some(wide.fit(product.wrapping_add(x.get(2).copied().unwrap_or(0))))
        }
        _ => integer(name, has("hi"), ty, x).map(|value| ty.fit(value)),
    }
}

fn float(name: &str, ty: Type, x: &[u64]) -> Option<u64> {
    fn of<T: Real>(name: &str, x: &[u64]) -> Option<u64> {
        let x: Vec<T> = x.iter().map(|bits| T::from_bits(*bits)).collect();
        T::apply(name, &x).map(T::bits)
    }
    match ty {
        Type::Float(32) => of::<f32>(name, x),
        Type::Float(64) => of::<f64>(name, x),
        _ => None,
    }
}

fn integer(name: &str, high: bool, ty: Type, x: &[u64]) -> Option<u64> {
    let (a, b) = (ty.fit(x[0]), x.get(1).map_or(0, |b| ty.fit(*b)));
    let (signed_a, signed_b) = (ty.signed(a), ty.signed(b));
    let is_signed = matches!(ty, Type::Signed(_));
    let width = ty.width();
    Some(match name {
        "add" => a.wrapping_add(b),
        "sub" => a.wrapping_sub(b),
        "mul" if high && is_signed => ((i128::from(signed_a) * i128::from(signed_b)) >> width) as u64,
        "mul" if high => ((u128::from(a) * u128::from(b)) >> width) as u64,
        "mul" => a.wrapping_mul(b),
        "mad" => a.wrapping_mul(b).wrapping_add(x[2]),
        "div" if is_signed => signed_a.wrapping_div(signed_b) as u64,
        "div" => a / b,
        "rem" if is_signed => signed_a.wrapping_rem(signed_b) as u64,
        "rem" => a % b,
        "neg" => a.wrapping_neg(),
        "abs" => signed_a.wrapping_abs() as u64,
        "min" if is_signed => signed_a.min(signed_b) as u64,
        "min" => a.min(b),
        "max" if is_signed => signed_a.max(signed_b) as u64,
        "max" => a.max(b),
        "and" => a & b,
        "or" => a | b,
        "xor" => a ^ b,
        "not" => !a,
        // The amount of a shift is a number of 32 bits; beyond the width nothing is left but the sign.
        "shl" if x[1] as u32 >= width => 0,
        "shl" => a << (x[1] as u32),
        "shr" if is_signed => (signed_a >> (x[1] as u32).min(width - 1)) as u64,
        "shr" if x[1] as u32 >= width => 0,
        "shr" => a >> (x[1] as u32),
        "bfe" => (a >> x[1]) & ((1 << x[2]) - 1),
        _ => return None,
    })
}

fn compare(parts: &[&str], ty: Type, x: &[u64]) -> Option<bool> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let order = match ty {
        Type::Float(32) => f32::from_bits(x[0] as u32).partial_cmp(&f32::from_bits(x[1] as u32)),
        Type::Float(64) => f64::from_bits(x[0]).partial_cmp(&f64::from_bits(x[1])),
        Type::Signed(_) => Some(ty.signed(x[0]).cmp(&ty.signed(x[1]))),
        _ => Some(ty.fit(x[0]).cmp(&ty.fit(x[1]))),
    };
    let unordered = order.is_none();
    Some(match parts[0] {
        "eq" => order == Some(Equal),
        "ne" => !unordered && order != Some(Equal),
        "lt" | "lo" => order == Some(Less),
        "le" | "ls" => matches!(order, Some(Less | Equal)),
        "gt" | "hi" => order == Some(Greater),
        "ge" | "hs" => matches!(order, Some(Greater | Equal)),
        "equ" => unordered || order == Some(Equal),
        "neu" => order != Some(Equal),
        "ltu" => unordered || order == Some(Less),
        "leu" => order != Some(Greater),
        "gtu" => unordered || order == Some(Greater),
        "geu" => order != Some(Less),
        "num" => !unordered,
        "nan" => unordered,
        _ => return None,
    })
}

/// `cvt`, with the type of the result before that of the operand.
fn convert(parts: &[&str], x: u64) -> Option<u64> {
    let types: Vec<Type> = parts.iter().filter_map(|part| Type::from_name(part)).collect();
    let [to, from] = types.as_slice() else { return None };
    let rounding = parts[0];
    Some(match (*to, *from) {
        (Type::Float(32), Type::Float(64)) => u64::from((f64::from_bits(x) as f32).to_bits()),
        (Type::Float(64), Type::Float(32)) => f64::from(f32::from_bits(x as u32)).to_bits(),
        (Type::Float(_), Type::Float(32)) => {
            u64::from(rounded(f64::from(f32::from_bits(x as u32)), rounding)?.to_f32_bits())
        }
        (Type::Float(_), Type::Float(64)) => rounded(f64::from_bits(x), rounding)?.to_bits(),
        (to, Type::Float(width)) => {
            let value = match width {
                32 => f64::from(f32::from_bits(x as u32)),
                _ => f64::from_bits(x),
            };
            let value = rounded(value, rounding)?;
            match to {
                Type::Signed(32) => value as i32 as u32 as u64,
                Type::Signed(64) => value as i64 as u64,
                Type::Unsigned(32) => u64::from(value as u32),
                _ => return None,
            }
        }
        (Type::Float(32), Type::Signed(_)) => u64::from((from.signed(x) as f32).to_bits()),
        (Type::Float(32), _) => u64::from((from.fit(x) as f32).to_bits()),
        (Type::Float(64), Type::Signed(_)) => (from.signed(x) as f64).to_bits(),
        (Type::Float(64), _) => (from.fit(x) as f64).to_bits(),
        (to, Type::Signed(_)) => to.fit(from.signed(x) as u64),
        (to, from) => to.fit(from.fit(x)),
    })
}

trait Bits32 {
    fn to_f32_bits(self) -> u32;
}

impl Bits32 for f64 {
    fn to_f32_bits(self) -> u32 {
        (self as f32).to_bits()
    }
}

fn rounded(x: f64, rounding: &str) -> Option<f64> {
    Some(match rounding {
        "rmi" => x.floor(),
        "rpi" => x.ceil(),
        "rzi" => x.trunc(),
        "rni" => x.round_ties_even(),
        _ => return None,
    })
}
