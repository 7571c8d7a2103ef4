//! The formatter: prints a tree and its comments in the canonical style.
//!
//! The style has an indentation of two blanks per level and lines of at most 110 characters. Two consecutive blank lines never occur. `=` and
//! `~` are aligned in runs of consecutive lines of the same kind. There are blank lines around items of several lines, and between items of
//! different kinds. A comment inside an expression moves to the line above the expression.

use crate::ast::{Expr, Setting, SourceFile};
use crate::layout::{self, Flat, STEP, WIDTH};
use crate::parse;
use crate::rows::{self, SourceRow, SourceRowBody};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::source::Source;
use bnnc_base::spellings;

/// Returns the canonical text of a program, or its syntax errors.
pub fn format(source: &Source) -> Result<String, Vec<Diagnostic>> {
    let (module, diagnostics) = parse::parse(source);
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(diagnostics);
    }
    Ok(print(&module, source))
}

/// Returns the canonical text of a tree that was parsed from `source`.
pub fn print(module: &SourceFile, source: &Source) -> String {
    let mut printer = Printer {
        text: &source.text,
        module,
        next: 0,
        out: String::new(),
        indent: 0,
        last: 0,
        fresh: true,
        apart: false,
    };
    let items: Vec<SourceRow<'_>> = module
        .items
        .iter()
        .map(|item| rows::item(item, &source.text))
        .collect();
    printer.items(&items);
    printer.comments(module.comments.len());
    printer.out
}

/// Returns the canonical text of one expression, on as many lines as it needs.
pub fn print_expr(expr: &Expr) -> String {
    layout::expression(expr, 0, 0, 0)
}

struct Printer<'a> {
    text: &'a str,
    module: &'a SourceFile,
    /// The index of the first comment that has not been printed yet.
    next: usize,
    out: String,
    indent: usize,
    /// The position in the source where the most recently printed text ends.
    last: usize,
    /// True if nothing has been printed in this block yet, because a block does not begin with a blank line.
    fresh: bool,
    /// True if a blank line comes before the next line, even if the source does not have one there.
    apart: bool,
}

impl<'a> Printer<'a> {
    /// Begins a line for the node at `start` in the source. If there is a blank line in the source, it is printed first.
    fn begin_line(&mut self, start: usize) {
        let between = self.text.get(self.last..start).unwrap_or("");
        if !self.fresh && (self.apart || between.matches('\n').count() > 1) {
            self.out.push('\n');
        }
        (self.fresh, self.apart) = (false, false);
        self.pad();
    }

    fn pad(&mut self) {
        self.out.extend(std::iter::repeat_n(' ', self.indent));
    }

    /// Returns the number of comments that begin before `position`.
    fn comments_until(&self, position: usize) -> usize {
        self.module
            .comments
            .partition_point(|comment| (comment.span.start as usize) < position)
    }

    /// Prints the comments up to index `limit`. Each comment is on its own line.
    fn comments(&mut self, limit: usize) {
        while self.next < limit {
            let comment = &self.module.comments[self.next];
            self.begin_line(comment.span.start as usize);
            self.out += &comment.text;
            self.out.push('\n');
            (self.last, self.next) = (comment.span.end as usize, self.next + 1);
        }
    }

    /// Prints the comments above a row. Comments from inside the row that cannot be printed there are printed directly above the documentation
    /// of the row. At that place, they do not document anything, even if they begin with three slashes.
    fn comments_of(&mut self, row: &SourceRow<'a>) {
        let above = self.comments_until(row.start);
        let inside = if row.holds_comments() {
            above
        } else {
            self.comments_until(row.end)
        };
        self.comments(above - row.docs);
        if inside > above {
            let comments = &self.module.comments;
            let anchor = if row.docs > 0 {
                comments[above - row.docs].span.start as usize
            } else {
                row.start
            };
            for comment in &comments[above..inside] {
                self.begin_line(anchor);
                self.out += "//";
                self.out += comment.text.trim_start_matches('/');
                self.out.push('\n');
                self.last = anchor;
            }
        }
        self.comments(above);
        self.next = inside.max(self.next);
    }

    /// Prints a comment that follows `end` on the same line, and ends the line.
    fn end_line(&mut self, end: usize) {
        self.last = end;
        if let Some(comment) = self.module.comments.get(self.next) {
            let between = self.text.get(end..comment.span.start as usize);
            if between.is_some_and(|text| text.chars().all(|c| matches!(c, ' ' | '\t' | ','))) {
                self.out.push(' ');
                self.out += &comment.text;
                (self.last, self.next) = (comment.span.end as usize, self.next + 1);
            }
        }
        self.out.push('\n');
    }

    /// Prints the items of a file. One-line items of the same kind, such as constants, may follow each other without a blank line.
    fn items(&mut self, rows: &[SourceRow<'a>]) {
        let mut blocks: Vec<bool> = rows
            .iter()
            .map(|row| self.is_block(row, row.left.len()))
            .collect();
        let (apart, widths) = loop {
            let is_apart =
                |at: usize| at > 0 && (blocks[at - 1] || blocks[at] || !rows[at - 1].is_like(&rows[at]));
            let apart: Vec<bool> = (0..rows.len()).map(is_apart).collect();
            let widths = self.widths(rows, &apart);
            // A row that takes several lines only because it is aligned with long neighbours is separated from them by blank lines.
            let wide = rows.iter().zip(&widths);
            let now: Vec<bool> = wide.map(|(row, width)| self.is_block(row, *width)).collect();
            let all: Vec<bool> = blocks.iter().zip(now).map(|(was, is)| *was || is).collect();
            if all == blocks {
                break (apart, widths);
            }
            blocks = all;
        };
        for (row, (apart, width)) in rows.iter().zip(apart.into_iter().zip(widths)) {
            self.apart = apart;
            self.print(row, width);
        }
    }

    /// Returns whether a row takes several lines.
    fn is_block(&mut self, row: &SourceRow<'a>, width: usize) -> bool {
        let (next, last, fresh, start) = (self.next, self.last, self.fresh, self.out.len());
        self.next = self.comments_until(row.start);
        self.row(row, width);
        let is_block = self.out[start..].contains('\n');
        self.out.truncate(start);
        (self.next, self.last, self.fresh) = (next, last, fresh);
        is_block
    }

    fn print(&mut self, row: &SourceRow<'a>, width: usize) {
        self.comments_of(row);
        self.begin_line(row.start);
        self.row(row, width);
        self.end_line(row.end);
    }

    /// Prints consecutive rows, with their operators aligned in runs.
    fn rows(&mut self, rows: &[SourceRow<'a>]) {
        for (row, width) in rows.iter().zip(self.widths(rows, &[])) {
            self.print(row, width);
        }
    }

    /// Returns, for each row, the width of its run. A run consists of consecutive rows of one class without a blank line or a comment
    /// between them. `apart` marks the rows above which a blank line is printed.
    fn widths(&self, rows: &[SourceRow<'a>], apart: &[bool]) -> Vec<usize> {
        let mut widths = Vec::with_capacity(rows.len());
        while widths.len() < rows.len() {
            let start = widths.len();
            let ends = (start + 1..rows.len()).find(|at| {
                apart.get(*at).copied().unwrap_or(false) || !self.continues_run(&rows[at - 1], &rows[*at])
            });
            let run = &rows[start..ends.unwrap_or(rows.len())];
            let width = run.iter().map(|row| row.left.len()).max().unwrap_or(0);
            widths.extend(std::iter::repeat_n(width, run.len()));
        }
        widths
    }

    fn continues_run(&self, above: &SourceRow<'a>, row: &SourceRow<'a>) -> bool {
        let between = self.text.get(above.end..row.start).unwrap_or("");
        let inside = row.holds_comments() || self.comments_until(row.start) == self.comments_until(row.end);
        above.class.is_some() && above.class == row.class && between.matches('\n').count() < 2 && inside
    }

    fn row(&mut self, row: &SourceRow<'a>, width: usize) {
        match &row.body {
            SourceRowBody::Text => self.out += &row.left,
            SourceRowBody::Value { op, value, settings } => self.value(row, width, (op, value), settings),
            SourceRowBody::Block { lists, tail, rows } => {
                self.out += &rows::header(&row.left, lists, tail, self.indent);
                self.block(row, rows);
            }
        }
    }

    fn value(
        &mut self,
        row: &SourceRow<'a>,
        width: usize,
        (op, value): (&str, &Expr),
        settings: &'a [Setting],
    ) {
        let width = if row.class.is_some() {
            width
        } else {
            row.left.len()
        };
        let separator = if op.is_empty() {
            " ".to_owned()
        } else {
            format!(" {op} ")
        };
        self.out += &row.left;
        // `format!` is not used here, because it only supports widths up to 65,535, and a name may be longer.
        let missing = width.saturating_sub(row.left.chars().count());
        self.out.extend(std::iter::repeat_n(' ', missing));
        self.out += &separator;
        let column = self.indent + width + separator.len();
        let Some(first) = settings.first() else {
            self.out += &layout::expression(value, self.indent, column, 0);
            return;
        };
        let behind = self
            .text
            .get(value.span.end as usize..first.name.span.start as usize)
            .unwrap_or("");
        let has_comments = self.comments_until(row.start) < self.comments_until(row.end);
        let line = format!("{} {}", Flat(value), rows::settings_on_a_line(settings));
        if !behind.contains('\n') && !has_comments && column + line.len() <= WIDTH {
            self.out += &line;
        } else {
            self.out += &layout::expression(value, self.indent, column, 2);
            let rows: Vec<SourceRow<'a>> = settings.iter().map(rows::setting).collect();
            self.block(row, &rows);
        }
    }

    /// Prints ` { .. }` with one row per line.
    fn block(&mut self, holder: &SourceRow<'a>, rows: &[SourceRow<'a>]) {
        let close = holder.end.saturating_sub(1);
        let limit = self.comments_until(close);
        if rows.is_empty() && self.next >= limit {
            self.out += " {}";
            return;
        }
        self.out += " {\n";
        self.indent += STEP;
        self.fresh = true;
        self.last = holder.start;
        self.rows(rows);
        self.comments(limit);
        self.indent -= STEP;
        self.fresh = false;
        self.pad();
        self.out.push('}');
    }
}

/// Returns whether two trees are equal, apart from positions in the text and the spelling of options.
pub fn same(left: &SourceFile, right: &SourceFile) -> bool {
    without_spans(left) == without_spans(right)
}

fn without_spans(module: &SourceFile) -> String {
    let text = format!("{:?}", module.items);
    let mut pieces = text.split("Span {");
    let mut kept = pieces.next().unwrap_or("").to_owned();
    for piece in pieces {
        kept += piece.split_once('}').map_or(piece, |(_, rest)| rest);
    }
    spellings::TABLE.iter().fold(kept, |text, (spelling, word)| {
        text.replace(&format!("\"{spelling}\""), &format!("\"{word}\""))
    })
}
