//! Generates the parser from the LALRPOP grammar.

fn main() {
    println!("cargo::rerun-if-changed=src/bnn.lalrpop");
    if let Err(error) = lalrpop::process_src() {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
