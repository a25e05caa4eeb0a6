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

    /// What clients have named may contain anything: it is printed so that it cannot make a line of
    /// its own or speak to the terminal.
    pub(super) fn row(&mut self, cells: [String; N]) {
        self.rows.push(cells.map(printable));
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

fn printable(cell: String) -> String {
    if cell.chars().any(char::is_control) {
        cell.escape_debug().to_string()
    } else {
        cell
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn a_name_stays_in_its_cell() {
        let mut table = Table::new(["ID", "STATE"]);
        table.row(["a\nb \u{1b}[2J".to_owned(), "Empty".to_owned()]);
        table.row(["größe".to_owned(), "Ongoing".to_owned()]);
        let printed = table.to_string();
        assert_eq!(printed.lines().count(), 3, "{printed}");
        assert!(printed.contains("a\\nb \\u{1b}[2J"), "{printed}");
        assert!(printed.contains("größe"), "{printed}");
        assert!(!printed.contains('\u{1b}'), "{printed}");
    }
}
