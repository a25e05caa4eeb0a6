//! Files in the format of `java.util.Properties`.

use std::fmt;
use std::iter::Peekable;
use std::str::Chars;

/// A file that cannot be read as properties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PropertiesError {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong there.
    pub what: String,
}

impl fmt::Display for PropertiesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for PropertiesError {}

/// Names and values in the order of the file; a name may come twice.
///
/// # Errors
///
/// The first line that is wrong: a bad `\u` escape, or a value without a name.
pub fn parse(text: &str) -> Result<Vec<(String, String)>, PropertiesError> {
    let mut pairs = Vec::new();
    for (line, logical) in logical_lines(text) {
        let error = |what: String| PropertiesError { line, what };
        let (name, value) = pair(&logical).map_err(error)?;
        if name.is_empty() {
            return Err(error("there is a value without a name".to_owned()));
        }
        pairs.push((name, value));
    }
    Ok(pairs)
}

/// Lines with their continuations joined, without comments and empty lines, each with the number
/// of its first line.
fn logical_lines(text: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (number, natural) in (1..).zip(text.lines()) {
        let content = natural.trim_start_matches([' ', '\t', '\x0c']);
        let comment = content.is_empty() || content.starts_with(['#', '!']);
        if open.is_none() && comment {
            continue;
        }
        let (first, mut logical) = open.take().unwrap_or((number, String::new()));
        match continued(content) {
            Some(start) => {
                logical.push_str(start);
                open = Some((first, logical));
            }
            None => {
                logical.push_str(content);
                lines.push((first, logical));
            }
        }
    }
    lines.extend(open.filter(|(_, logical)| !logical.is_empty()));
    lines
}

/// The line without the backslash at its end, where that one is not escaped itself.
fn continued(line: &str) -> Option<&str> {
    let backslashes = line.bytes().rev().take_while(|byte| *byte == b'\\').count();
    if backslashes % 2 == 1 {
        line.strip_suffix('\\')
    } else {
        None
    }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\x0c')
}

/// Name, then spaces with at most one `=` or `:` among them, then the value.
fn pair(line: &str) -> Result<(String, String), String> {
    let mut chars = line.chars().peekable();
    let name = unescape(&mut chars, |c| is_space(c) || c == '=' || c == ':')?;
    while chars.next_if(|c| is_space(*c)).is_some() {}
    if chars.next_if(|c| matches!(c, '=' | ':')).is_some() {
        while chars.next_if(|c| is_space(*c)).is_some() {}
    }
    let value = unescape(&mut chars, |_| false)?;
    Ok((name, value))
}

/// Takes characters up to an unescaped one that ends the text. Works in UTF-16, because an escape
/// names half a pair of surrogates.
fn unescape(
    chars: &mut Peekable<Chars<'_>>,
    ends: impl Fn(char) -> bool,
) -> Result<String, String> {
    let mut units = Vec::new();
    while let Some(c) = chars.next_if(|c| !ends(*c)) {
        let plain = match (c, if c == '\\' { chars.next() } else { None }) {
            (_, Some('t')) => '\t',
            (_, Some('n')) => '\n',
            (_, Some('r')) => '\r',
            (_, Some('f')) => '\x0c',
            (_, Some('u')) => {
                units.push(hex(chars)?);
                continue;
            }
            (_, Some(escaped)) => escaped,
            ('\\', None) => continue,
            (c, None) => c,
        };
        units.extend_from_slice(plain.encode_utf16(&mut [0; 2]));
    }
    Ok(String::from_utf16_lossy(&units))
}

/// Four hexadecimal digits: one unit of UTF-16.
fn hex(chars: &mut Peekable<Chars<'_>>) -> Result<u16, String> {
    let digits: String = chars.by_ref().take(4).collect();
    let right = digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    match u16::from_str_radix(&digits, 16) {
        Ok(unit) if right => Ok(unit),
        Ok(_) | Err(_) => Err(format!("\\u{digits} is not four hexadecimal digits")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> (String, String) {
        let pairs = parse(line).unwrap();
        assert_eq!(pairs.len(), 1, "{line}");
        pairs.into_iter().next().unwrap()
    }

    #[test]
    fn names_and_values_are_cut_where_java_cuts_them() {
        for (line, name, value) in [
            ("a=b", "a", "b"),
            ("  a : b ", "a", "b "),
            ("a\\tb c", "a\tb", "c"),
            ("a b=c", "a", "b=c"),
            ("a==b", "a", "=b"),
            ("a", "a", ""),
            ("a=", "a", ""),
            ("a\\=b\\:c=d", "a=b:c", "d"),
            ("path=c:\\\\temp\\n", "path", "c:\\temp\n"),
            ("u=\\u00e9\\ud83d\\ude00", "u", "\u{e9}\u{1f600}"),
            (
                "listeners=PLAINTEXT://:9092",
                "listeners",
                "PLAINTEXT://:9092",
            ),
        ] {
            assert_eq!(one(line), (name.to_owned(), value.to_owned()), "{line}");
        }
    }

    #[test]
    fn comments_empty_lines_and_continuations() {
        let text = "# one\r\n\r\n! two\na=1,\\\n   2,\\\n# not a comment\n \t\nb=\\\\\nc=x\\";
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let expected = [
            pair("a", "1,2,# not a comment"),
            pair("b", "\\"),
            pair("c", "x"),
        ];
        assert_eq!(parse(text).unwrap(), expected);
    }

    #[test]
    fn errors_name_the_line() {
        let error = parse("a=1\n\nb=\\\n\\u12g4\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 3: \\u12g4 is not four hexadecimal digits"
        );
        assert_eq!(parse("a=1\n=2").unwrap_err().line, 2);
    }
}
