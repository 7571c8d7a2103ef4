//! The arithmetic of PTX instructions, as described in the PTX manual.

/// The type of an instruction. It determines how the operands are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    Predicate,
    Bits(u32),
    Unsigned(u32),
    Signed(u32),
    Float(u32),
}

/// A function that maps operands to a result. Operands and results are given as bits.
pub type Function = Box<dyn Fn(&[u64; 4]) -> u64 + Send + Sync>;

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

    /// Extends a value to 64 bits. A signed value is extended by its sign bit, an unsigned value by
    /// zeros.
    pub fn extended(self, value: u64) -> u64 {
        match self {
            Type::Signed(_) => self.signed(value) as u64,
            _ => value,
        }
    }

    fn signed(self, value: u64) -> i64 {
        let spare = 64 - self.width();
        ((value << spare) as i64) >> spare
    }
}

/// Returns the function of an instruction with this name, these modifiers and this type. Returns
/// `None` if the emulator does not support the instruction.
pub fn function(name: &str, parts: &[&str], ty: Type) -> Option<Function> {
    let has = |part: &str| parts.contains(&part);
    match (name, ty) {
        ("mov" | "cvta", _) => Some(Box::new(|x| x[0])),
        ("cvt", _) => conversion(parts),
        ("setp", _) => comparison(parts, ty),
        ("selp", _) => Some(Box::new(|x| if x[2] & 1 == 1 { x[0] } else { x[1] })),
        ("max" | "min", Type::Float(32)) if has("NaN") => extremum_with_nan::<f32>(name),
        ("max" | "min", Type::Float(64)) if has("NaN") => extremum_with_nan::<f64>(name),
        (_, Type::Float(32)) => real::<f32>(name),
        (_, Type::Float(64)) => real::<f64>(name),
        ("mul" | "mad", _) if has("wide") => Some(wide(name == "mad", ty)),
        ("mul", _) if has("hi") => Some(high(ty)),
        _ => integer(name, ty),
    }
}

trait Real: Copy + PartialOrd + 'static {
    fn from_bits(bits: u64) -> Self;
    fn bits(self) -> u64;
    fn operation(name: &str) -> Option<fn([Self; 3]) -> Self>;
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
            fn operation(name: &str) -> Option<fn([$real; 3]) -> $real> {
                Some(match name {
                    "add" => |x| x[0] + x[1],
                    "sub" => |x| x[0] - x[1],
                    "mul" => |x| x[0] * x[1],
                    "div" => |x| x[0] / x[1],
                    "fma" => |x| x[0].mul_add(x[1], x[2]),
                    "sqrt" => |x| x[0].sqrt(),
                    "rcp" => |x| 1.0 / x[0],
                    "neg" => |x| -x[0],
                    "abs" => |x| x[0].abs(),
                    "copysign" => |x| x[1].copysign(x[0]),
                    "max" => |x| x[0].max(x[1]),
                    "min" => |x| x[0].min(x[1]),
                    _ => return None,
                })
            }
        }
    };
}

real!(f32 u32);
real!(f64 u64);

fn real<T: Real>(name: &str) -> Option<Function> {
    let operation = T::operation(name)?;
    Some(Box::new(move |x| {
        operation([T::from_bits(x[0]), T::from_bits(x[1]), T::from_bits(x[2])]).bits()
    }))
}

fn extremum_with_nan<T: Real>(name: &str) -> Option<Function> {
    let (operation, is_nan) = (real::<T>(name)?, |bits: u64| {
        T::from_bits(bits).partial_cmp(&T::from_bits(bits)).is_none()
    });
    Some(Box::new(move |x| match (is_nan(x[0]), is_nan(x[1])) {
        (true, _) => x[0],
        (_, true) => x[1],
        _ => operation(x),
    }))
}

fn wide(adds: bool, ty: Type) -> Function {
    let to = Type::Bits(2 * ty.width());
    Box::new(move |x| {
        let product = match ty {
            Type::Signed(_) => ty.signed(x[0]).wrapping_mul(ty.signed(x[1])) as u64,
            _ => ty.fit(x[0]).wrapping_mul(ty.fit(x[1])),
        };
        to.fit(product.wrapping_add(if adds { x[2] } else { 0 }))
    })
}

fn high(ty: Type) -> Function {
    let width = ty.width();
    match ty {
        Type::Signed(_) => Box::new(move |x| {
            let product = i128::from(ty.signed(x[0])) * i128::from(ty.signed(x[1]));
            ty.fit((product >> width) as u64)
        }),
        _ => Box::new(move |x| {
            let product = u128::from(ty.fit(x[0])) * u128::from(ty.fit(x[1]));
            ty.fit((product >> width) as u64)
        }),
    }
}

/// Returns an operation on integers. The operands must fit the type.
fn integer(name: &str, ty: Type) -> Option<Function> {
    let is_signed = matches!(ty, Type::Signed(_));
    let operation: fn(Type, [u64; 3]) -> u64 = match (name, is_signed) {
        ("add", _) => |_, [a, b, _]| a.wrapping_add(b),
        ("sub", _) => |_, [a, b, _]| a.wrapping_sub(b),
        ("mul", _) => |_, [a, b, _]| a.wrapping_mul(b),
        ("mad", _) => |_, [a, b, c]| a.wrapping_mul(b).wrapping_add(c),
        ("div", true) => |ty, [a, b, _]| ty.signed(a).wrapping_div(ty.signed(b)) as u64,
        ("div", false) => |_, [a, b, _]| a / b,
        ("rem", true) => |ty, [a, b, _]| ty.signed(a).wrapping_rem(ty.signed(b)) as u64,
        ("rem", false) => |_, [a, b, _]| a % b,
        ("bfe", false) => {
            |_, [a, from, length]| a.checked_shr(from as u32).unwrap_or(0) & ((1 << length) - 1)
        }
        ("neg", _) => |_, [a, ..]| a.wrapping_neg(),
        ("abs", _) => |ty, [a, ..]| ty.signed(a).wrapping_abs() as u64,
        ("min", true) => |ty, [a, b, _]| ty.signed(a).min(ty.signed(b)) as u64,
        ("min", false) => |_, [a, b, _]| a.min(b),
        ("max", true) => |ty, [a, b, _]| ty.signed(a).max(ty.signed(b)) as u64,
        ("max", false) => |_, [a, b, _]| a.max(b),
        ("and", _) => |_, [a, b, _]| a & b,
        ("or", _) => |_, [a, b, _]| a | b,
        ("xor", _) => |_, [a, b, _]| a ^ b,
        ("not", _) => |_, [a, ..]| !a,
        // If a value is shifted by its width or more, a left shift gives 0, and a right shift
        // leaves only the sign.
        ("shl", _) => |ty, [a, b, _]| {
            a.checked_shl(b as u32)
                .filter(|_| b < u64::from(ty.width()))
                .unwrap_or(0)
        },
        ("shr", true) => |ty, [a, b, _]| (ty.signed(a) >> b.min(u64::from(ty.width()) - 1)) as u64,
        ("shr", false) => |ty, [a, b, _]| {
            a.checked_shr(b as u32)
                .filter(|_| b < u64::from(ty.width()))
                .unwrap_or(0)
        },
        _ => return None,
    };
    Some(Box::new(move |x| {
        ty.fit(operation(ty, [ty.fit(x[0]), ty.fit(x[1]), ty.fit(x[2])]))
    }))
}

fn comparison(parts: &[&str], ty: Type) -> Option<Function> {
    use std::cmp::Ordering::{self, Equal, Greater, Less};
    let holds: fn(Option<Ordering>) -> bool = match parts[0] {
        "eq" => |order| order == Some(Equal),
        "ne" => |order| matches!(order, Some(Less | Greater)),
        "lt" | "lo" => |order| order == Some(Less),
        "le" | "ls" => |order| matches!(order, Some(Less | Equal)),
        "gt" | "hi" => |order| order == Some(Greater),
        "ge" | "hs" => |order| matches!(order, Some(Greater | Equal)),
        "equ" => |order| matches!(order, None | Some(Equal)),
        "neu" => |order| order != Some(Equal),
        "ltu" => |order| matches!(order, None | Some(Less)),
        "leu" => |order| order != Some(Greater),
        "gtu" => |order| matches!(order, None | Some(Greater)),
        "geu" => |order| order != Some(Less),
        "num" => |order| order.is_some(),
        "nan" => |order| order.is_none(),
        _ => return None,
    };
    Some(match ty {
        Type::Float(32) => Box::new(move |x| {
            u64::from(holds(
                f32::from_bits(x[0] as u32).partial_cmp(&f32::from_bits(x[1] as u32)),
            ))
        }),
        Type::Float(_) => {
            Box::new(move |x| u64::from(holds(f64::from_bits(x[0]).partial_cmp(&f64::from_bits(x[1])))))
        }
        Type::Signed(_) => Box::new(move |x| u64::from(holds(Some(ty.signed(x[0]).cmp(&ty.signed(x[1])))))),
        _ => Box::new(move |x| u64::from(holds(Some(ty.fit(x[0]).cmp(&ty.fit(x[1])))))),
    })
}

/// Returns the conversion `cvt`. In `parts`, the type of the result comes before the type of the
/// operand.
fn conversion(parts: &[&str]) -> Option<Function> {
    let types: Vec<Type> = parts.iter().filter_map(|part| Type::from_name(part)).collect();
    let [to, from] = types.as_slice() else { return None };
    let (to, from) = (*to, *from);
    let read = move |x: u64| match from {
        Type::Float(32) => f64::from(f32::from_bits(x as u32)),
        Type::Float(_) => f64::from_bits(x),
        Type::Signed(_) => from.signed(x) as f64,
        _ => from.fit(x) as f64,
    };
    let rounded: fn(f64) -> f64 = match parts[0] {
        "rmi" => f64::floor,
        "rpi" => f64::ceil,
        "rzi" => f64::trunc,
        "rni" => f64::round_ties_even,
        _ => |x| x,
    };
    Some(match (to, from) {
        (Type::Float(32), Type::Float(_)) => {
            Box::new(move |x| u64::from((rounded(read(x[0])) as f32).to_bits()))
        }
        (Type::Float(32), Type::Signed(_)) => {
            Box::new(move |x| u64::from((from.signed(x[0]) as f32).to_bits()))
        }
        (Type::Float(32), _) => Box::new(move |x| u64::from((from.fit(x[0]) as f32).to_bits())),
        (Type::Float(64), _) => Box::new(move |x| rounded(read(x[0])).to_bits()),
        (Type::Signed(32), Type::Float(_)) => Box::new(move |x| u64::from(rounded(read(x[0])) as i32 as u32)),
        (Type::Signed(64), Type::Float(_)) => Box::new(move |x| rounded(read(x[0])) as i64 as u64),
        (Type::Unsigned(32), Type::Float(_)) => Box::new(move |x| u64::from(rounded(read(x[0])) as u32)),
        (Type::Float(_), _) | (_, Type::Float(_)) => return None,
        (to, Type::Signed(_)) => Box::new(move |x| to.fit(from.signed(x[0]) as u64)),
        (to, from) => Box::new(move |x| to.fit(from.fit(x[0]))),
    })
}
