//! What stands inside `#[wire(...)]`.

use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, ExprRange, Ident, Lit, RangeLimits, Token};

/// A range of versions; an open end is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Versions {
    pub(crate) from: Option<i16>,
    pub(crate) to: Option<i16>,
}

impl Versions {
    fn from_expr(expr: &Expr) -> syn::Result<Self> {
        let Expr::Range(ExprRange {
            start, end, limits, ..
        }) = expr
        else {
            let only = Some(number(expr)?);
            return Ok(Self {
                from: only,
                to: only,
            });
        };
        let from = start.as_deref().map(number).transpose()?;
        let to = end.as_deref().map(number).transpose()?;
        match (limits, to) {
            (RangeLimits::HalfOpen(_), Some(_)) => Err(syn::Error::new_spanned(
                expr,
                "write a closed range of versions as A..=B",
            )),
            _ => Ok(Self { from, to }),
        }
    }
}

fn number(expr: &Expr) -> syn::Result<i16> {
    match expr {
        Expr::Lit(lit) => match &lit.lit {
            Lit::Int(int) => int.base10_parse(),
            other => Err(syn::Error::new_spanned(other, "a version is a number")),
        },
        other => Err(syn::Error::new_spanned(other, "a version is a number")),
    }
}

/// One entry: `name` or `name = value`.
struct Entry {
    name: Ident,
    value: Option<Expr>,
}

impl Parse for Entry {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name = input.parse()?;
        let value = match input.parse::<Option<Token![=]>>()? {
            Some(_) => Some(input.parse()?),
            None => None,
        };
        Ok(Self { name, value })
    }
}

impl Entry {
    fn value(&self) -> syn::Result<&Expr> {
        self.value
            .as_ref()
            .ok_or_else(|| syn::Error::new_spanned(&self.name, "a value is missing"))
    }

    fn unknown(&self) -> syn::Error {
        syn::Error::new_spanned(&self.name, "no such wire attribute")
    }
}

fn entries(attributes: &[Attribute]) -> syn::Result<Vec<Entry>> {
    let mut found = Vec::new();
    for attribute in attributes.iter().filter(|a| a.path().is_ident("wire")) {
        let list = attribute.parse_args_with(Punctuated::<Entry, Token![,]>::parse_terminated)?;
        found.extend(list);
    }
    Ok(found)
}

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Request,
    Response,
    Data,
}

/// The attributes of a struct.
#[derive(Default)]
pub(crate) struct StructAttributes {
    pub(crate) kind: Option<Kind>,
    pub(crate) api: Option<Expr>,
    pub(crate) versions: Versions,
    pub(crate) flexible: Option<i16>,
}

impl StructAttributes {
    pub(crate) fn parse(attributes: &[Attribute]) -> syn::Result<Self> {
        let mut result = Self::default();
        for entry in entries(attributes)? {
            match entry.name.to_string().as_str() {
                "request" => result.kind = Some(Kind::Request),
                "response" => result.kind = Some(Kind::Response),
                "data" => result.kind = Some(Kind::Data),
                "api" => result.api = Some(entry.value()?.clone()),
                "versions" => result.versions = Versions::from_expr(entry.value()?)?,
                "flexible" => result.flexible = Some(number(entry.value()?)?),
                _ => return Err(entry.unknown()),
            }
        }
        Ok(result)
    }
}

/// The attributes of a field.
#[derive(Default)]
pub(crate) struct FieldAttributes {
    pub(crate) versions: Versions,
    /// `None`: null is never allowed, or always where the type is an `Option`.
    pub(crate) nullable: Option<Versions>,
    pub(crate) default: Option<Expr>,
    pub(crate) tag: Option<u32>,
    pub(crate) ignorable: bool,
}

impl FieldAttributes {
    pub(crate) fn parse(attributes: &[Attribute]) -> syn::Result<Self> {
        let mut result = Self::default();
        for entry in entries(attributes)? {
            match entry.name.to_string().as_str() {
                "versions" => result.versions = Versions::from_expr(entry.value()?)?,
                "nullable" => result.nullable = Some(Versions::from_expr(entry.value()?)?),
                "default" => result.default = Some(entry.value()?.clone()),
                "tag" => result.tag = Some(u32::from(number(entry.value()?)?.unsigned_abs())),
                "ignorable" => result.ignorable = true,
                _ => return Err(entry.unknown()),
            }
        }
        Ok(result)
    }
}
