//! Tests of the canonical format, with one situation per test. Every result is formatted again and must stay
//! the same.

use bnnc_base::source::SourceMap;
use bnnc_grammar::{parse, print};

fn format(text: &str) -> String {
    let source = SourceMap::default().add("text", text);
    let formatted = print::format(&source).expect("a program without faults");
    let again = SourceMap::default().add("again", &formatted);
    assert_eq!(
        print::format(&again).expect("formatted programs have no faults"),
        formatted
    );
    assert!(
        print::same(&parse::parse(&source).0, &parse::parse(&again).0),
        "{formatted}"
    );
    formatted
}

#[test]
fn blanks_and_blank_lines_are_normalised() {
    let text = "\n\nuse   layers :: Dense\n\n\n\nmodel M(x:real[d],k:int=2)->y:real{\n\n  y~Normal( x[0]+k , -1 )\n\n\n  z=[ 1,2 , ]\n\n}";
    insta::assert_snapshot!(format(text), @r"
    use layers::Dense

    model M(x: real[d], k: int = 2) -> y: real {
      y ~ Normal(x[0] + k, -1)

      z = [1, 2]
    }
    ");
}

#[test]
fn operators_align_in_runs_of_one_kind() {
    let text = "model M() -> y: real {\nlevel ~ Flat\nb ~ Flat\nc: real[2] ~ Flat\ntau: positive ~ Flat\nd = 1\n\neta = 2\nf.*, g.* ~ Flat\nreturn 3\n}\n";
    insta::assert_snapshot!(format(text), @r"
    model M() -> y: real {
      level ~ Flat
      b     ~ Flat
      c: real[2]    ~ Flat
      tau: positive ~ Flat
      d = 1

      eta = 2
      f.*, g.* ~ Flat
      return 3
    }
    ");
}

#[test]
fn comments_are_kept() {
    let text = "//! About.\n\n\n// free\n\n/// Doc.\nmodel M() -> y: real { // head\n  // above\n  a = 1 // behind\n  b = f(1, // inner\n    2) // end\n\n  // last\n}\n\nconst c = [1, /// not a doc\n 2]\ninfer i = vi(M, d) { a = 1, // one\n b = 2 }\n// end";
    insta::assert_snapshot!(format(text), @r"
    //! About.

    // free

    /// Doc.
    model M() -> y: real {
      // head
      // above
      a = 1 // behind
      // inner
      b = f(1, 2) // end

      // last
    }

    // not a doc
    const c = [1, 2]

    infer i = vi(M, d) {
      a = 1 // one
      b = 2
    }
    // end
    ");
}

#[test]
fn option_blocks_keep_their_layout_if_they_fit() {
    let text = "data a = csv(\"a\") { target = x, if = model }\ndata b = csv(\"b\") {\n target = x }\ninfer c = vi(a, b) {}\n";
    insta::assert_snapshot!(format(text), @r#"
    data a = csv("a") { target = x, if = model }

    data b = csv("b") {
      target = x
    }

    infer c = vi(a, b)
    "#);
}

#[test]
fn long_lines_break_at_their_outermost_brackets() {
    let name = "a_rather_long_name_for_a_quantity";
    let text = format!(
        "fn f(x: real) -> real {{\n  y = Mixture({name}, Normal({name}, {name}), {name})\n  z = {name} + {name} * {name} + {name}\n\
         return if {name} < {name} {{ {name} }} else {{ {name} + 1 }}\n}}\n\
         fn g({name}: real, {name}_2: real, {name}_3: positive) -> real {{ return 1 }}\n"
    );
    insta::assert_snapshot!(format(&text), @r"
    fn f(x: real) -> real {
      y = Mixture(
        a_rather_long_name_for_a_quantity,
        Normal(a_rather_long_name_for_a_quantity, a_rather_long_name_for_a_quantity),
        a_rather_long_name_for_a_quantity,
      )
      z = a_rather_long_name_for_a_quantity +
        a_rather_long_name_for_a_quantity * a_rather_long_name_for_a_quantity +
        a_rather_long_name_for_a_quantity
      return if a_rather_long_name_for_a_quantity < a_rather_long_name_for_a_quantity {
        a_rather_long_name_for_a_quantity
      } else {
        a_rather_long_name_for_a_quantity + 1
      }
    }

    fn g(
      a_rather_long_name_for_a_quantity: real,
      a_rather_long_name_for_a_quantity_2: real,
      a_rather_long_name_for_a_quantity_3: positive,
    ) -> real {
      return 1
    }
    ");
}

#[test]
fn programs_with_errors_are_not_formatted() {
    let source = SourceMap::default().add("text", "const a = ;\n");
    assert!(print::format(&source).is_err());
}

#[test]
fn multi_line_items_and_items_of_different_kinds_are_separated() {
    let text = "const A = 1\nconst LONG = 2\n// of the next\nconst B = 3\nfn f(x: real) -> real {\n  return x\n}\n/// Documented.\nfn g(x: real) -> real {\n  return x\n}\ndata d = csv(\"d\")\n\
                infer a = map(M, d)\ninfer long = map(M, d) { start = a,\n steps = 10 }\ninfer b = map(M, d)\ninfer bc = map(M, d)\ncompare a, b by rmse\n// the end\n";
    insta::assert_snapshot!(format(text), @r#"
    const A    = 1
    const LONG = 2
    // of the next
    const B = 3

    fn f(x: real) -> real {
      return x
    }

    /// Documented.
    fn g(x: real) -> real {
      return x
    }

    data d = csv("d")

    infer a    = map(M, d)
    infer long = map(M, d) { start = a, steps = 10 }
    infer b    = map(M, d)
    infer bc   = map(M, d)

    compare a, b by rmse
    // the end
    "#);
}

/// Lists of layers stay on one line if they fit. If they do not, each part has a line.
#[test]
fn layers_of_layers_and_folds_are_laid_out_as_calls() {
    let text = "model M(x: real[d]) -> y: real {\nblocks=[[Block(4,norm=Residual( Linear(4) )) for j in 0 .. i+1]for i in 0..2]\nnet = Sequential(Dense(40, prior = Normal(0, 0.25)), tanh, [Residual(Sequential(Dense(40), tanh)) for i in 0..3], Dense(4))\ny~Normal(sum( fold(blocks,net( x ))),1)\n}\n";
    insta::assert_snapshot!(format(text), @r"
    model M(x: real[d]) -> y: real {
      blocks = [[Block(4, norm = Residual(Linear(4))) for j in 0..i + 1] for i in 0..2]
      net    = Sequential(
        Dense(40, prior = Normal(0, 0.25)),
        tanh,
        [Residual(Sequential(Dense(40), tanh)) for i in 0..3],
        Dense(4),
      )
      y ~ Normal(sum(fold(blocks, net(x))), 1)
    }
    ");
}
