//! Enums whose variants have names.

/// Declares an enum whose variants have names, such as `Low = "low"`. The constant `ALL` contains
/// every variant, `name` returns the name of a variant, and `from_name` finds the variant with a
/// name.
#[macro_export]
macro_rules! named {
    (
        $(#[$about:meta])*
        $vis:vis enum $name:ident {
            $($(#[$doc:meta])* $variant:ident = $word:literal,)+
        }
    ) => {
        $(#[$about])*
        $vis enum $name {
            $($(#[$doc])* $variant,)+
        }

        impl $name {
            /// Every variant, in the order of declaration.
            $vis const ALL: [$name; [$($word),+].len()] = [$($name::$variant),+];

            /// Returns the name of this variant.
            $vis fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)+
                }
            }

            /// Returns the variant with this name, or `None` if no variant has it.
            $vis fn from_name(name: &str) -> Option<$name> {
                $name::ALL.into_iter().find(|known| known.name() == name)
            }
        }
    };
}
