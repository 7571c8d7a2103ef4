//! x
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let p = bnnc_loops::parse::parse(&std::fs::read_to_string(path).unwrap()).unwrap_or_else(|e| panic!("{e}"));
    print!("{}", bnnc_backend_mlir::module::module(&p).text);
}
