//! Reads, parses and checks a program together with the library.

use crate::options::CompileOptions;
use bnnc_abi::diagnostics::no_setting;
use bnnc_abi::settings;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::source::{Source, SourceMap};
use bnnc_base::threads::processors;
use bnnc_grammar::ast;
pub use bnnc_grammar::is_keyword;
use bnnc_hir::check::{CheckContext, Override, check};
use bnnc_hir::tree::{InferItem, Module};
use std::io::{Error, ErrorKind, Read, Result as IoResult};
use std::path::Path;
use std::thread::{self, Builder};

/// The largest size of a program in bytes. Programs are far smaller, whether written by people or
/// generated, and a text of this size can still be read in a moment.
const LARGEST: u64 = 16 << 20;

/// The largest number of threads that parse the library. Starting a thread takes about as long as parsing a small file.
const MOST_THREADS: usize = 4;

/// A checked program.
pub struct CheckedProgram {
    /// The texts of three sources: the program, the library, and the values of `--set`.
    pub sources: SourceMap,
    /// The text of the program itself.
    pub source: Source,
    /// The syntax tree of the program.
    pub ast: ast::SourceFile,
    /// The resolved and typed program. It is complete only if the program does not contain errors.
    pub module: Module,
    /// The diagnostics of the program.
    pub diagnostics: Vec<Diagnostic>,
}

impl CheckedProgram {
    /// Returns the inference block with this name.
    pub(crate) fn infer(&self, name: &str) -> Option<&InferItem> {
        self.module.infers.iter().find(|item| *item.name == *name)
    }

    /// Returns whether the program has errors and therefore must not be compiled.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

/// Reads the text of a program.
///
/// # Errors
/// Fails if the operating system reports an error, the text is not UTF-8, the path is a pipe
/// without a writer, or the text has more than `LARGEST` bytes. This limit matters because a device
/// file may be endless.
pub fn read(path: &Path) -> IoResult<String> {
    let mut text = Vec::new();
    bnnc_data::file::open(path)?
        .take(LARGEST + 1)
        .read_to_end(&mut text)?;
    if text.len() as u64 > LARGEST {
        let message = format!("it is larger than {} MiB, the limit for programs", LARGEST >> 20);
        return Err(Error::new(ErrorKind::FileTooLarge, message));
    }
    String::from_utf8(text).map_err(|_| Error::new(ErrorKind::InvalidData, "the text is not UTF-8"))
}

/// Parses the library. The files are parsed on several threads, because they do not depend on each other. A test
/// ensures that the files of the library parse without diagnostics.
pub fn library(sources: &mut SourceMap) -> Vec<ast::SourceFile> {
    let add = |(path, text): &(&str, &str)| sources.add(&format!("library/{path}"), text);
    let files: Vec<Source> = bnnc_stdlib::FILES.iter().map(add).collect();
    let threads = processors();
    let size = files.len().div_ceil(threads.min(MOST_THREADS));
    let (own, others) = files.split_at(size);
    thread::scope(|scope| {
        let start = |files| Builder::new().spawn_scoped(scope, move || parsed(files)).ok();
        let workers: Vec<_> = others.chunks(size).map(|files| (files, start(files))).collect();
        let mut library = parsed(own);
        for (files, worker) in workers {
            // If a thread did not start, this thread does its work.
            let result = worker.and_then(|worker| worker.join().ok());
            library.extend(result.unwrap_or_else(|| parsed(files)));
        }
        library
    })
}

/// Parses several files, in order.
fn parsed(files: &[Source]) -> Vec<ast::SourceFile> {
    let parse = |source| bnnc_grammar::parse::parse(source).0;
    files.iter().map(parse).collect()
}

/// Parses and checks a program. `name` is the path of the program. Paths in the program are
/// relative to the program's folder.
pub fn load(name: &str, text: &str, options: &CompileOptions) -> CheckedProgram {
    let mut sources = SourceMap::default();
    let source = sources.add(name, text);
    let (ast, mut diagnostics) = bnnc_grammar::parse::parse(&source);
    let library = library(&mut sources);
    let overrides = overrides(options, &mut sources, &mut diagnostics);
    let folder = Path::new(name)
        .parent()
        .map(Path::to_path_buf)
        .unwrap_or_default();
    let library_paths = bnnc_stdlib::FILES
        .iter()
        .map(|(path, _)| (*path).to_owned())
        .collect();
    let context = CheckContext {
        overrides,
        folder,
        data_overrides: settings::by_name(&options.data),
        library_paths,
        library_items: options.library_items,
    };
    let (module, mut found) = check(&library, &ast, &context);
    // After a syntax error, warnings are dropped. They could be wrong, because the checker does not
    // know the names on the erroneous lines.
    if diagnostics.iter().any(Diagnostic::is_error) {
        found.retain(Diagnostic::is_error);
    }
    diagnostics.extend(found);
    CheckedProgram {
        sources,
        source,
        ast,
        module,
        diagnostics,
    }
}

/// Parses the values of `--set`, each as an expression in its own source.
fn overrides(
    options: &CompileOptions,
    sources: &mut SourceMap,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Override> {
    let mut overrides = Vec::new();
    for setting in &options.settings {
        let parts = setting
            .split_once('=')
            .and_then(|(target, value)| Some((target.split_once('.')?, value)));
        let Some(((item, key), value)) = parts else {
            diagnostics.push(no_setting(setting));
            continue;
        };
        let source = sources.add(&format!("{}{item}.{key}", settings::SET), value);
        let (expr, found) = bnnc_grammar::parse::parse_option(&source);
        diagnostics.extend(found);
        overrides.push(Override {
            item: item.trim().to_owned(),
            key: key.trim().to_owned(),
            value: expr,
        });
    }
    overrides
}

/// Formats a program.
///
/// # Errors
/// Returns the diagnostics of a program that cannot be parsed.
pub fn format(source: &Source) -> Result<String, Vec<Diagnostic>> {
    bnnc_grammar::print::format(source)
}
