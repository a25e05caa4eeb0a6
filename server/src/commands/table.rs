//! Columns for people, as Kafka's tools print them.

use std::fmt;

/// A table with a head.
#[derive(Debug)]
pub(super) struct Table<const N: usize> {
    head: [&'static str; N],
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    pub(super) fn new(head: [&'static str; N]) -> Self {
        let rows = Vec::new();
        Table { head, rows }
    }

    pub(super) fn row(&mut self, cells: [String; N]) {
        self.rows.push(cells);
    }
}

impl<const N: usize> fmt::Display for Table<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = self.head.map(str::to_owned);
        let all = || std::iter::once(&head).chain(&self.rows);
        let mut widths = [0; N];
        for row in all() {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.chars().count().max(*width);
            }
        }
        for row in all() {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(widths) {
                line += &format!("{cell:<width$}  ");
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}
