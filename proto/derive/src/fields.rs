//! One field of a message and the pieces of code that belong to it.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Expr, GenericArgument, Ident, Lit, PathArguments, Type};

use crate::attributes::{FieldAttributes, Versions};

/// A field as the generator sees it.
pub(crate) struct Field {
    pub(crate) ident: Ident,
    /// The name in errors and prints.
    pub(crate) name: String,
    pub(crate) ty: Type,
    /// The type inside `Option`, for nullable fields.
    pub(crate) inner: Option<Type>,
    pub(crate) attributes: FieldAttributes,
}

impl Field {
    pub(crate) fn parse(field: &syn::Field) -> syn::Result<Self> {
        let ident = field
            .ident
            .clone()
            .ok_or_else(|| syn::Error::new_spanned(field, "fields need names"))?;
        let attributes = FieldAttributes::parse(&field.attrs)?;
        let inner = argument_of(&field.ty, "Option").cloned();
        if attributes.nullable.is_some() && inner.is_none() {
            return Err(syn::Error::new_spanned(
                &field.ty,
                "a nullable field is an Option",
            ));
        }
        let name = ident.to_string();
        Ok(Self {
            ident,
            name,
            ty: field.ty.clone(),
            inner,
            attributes,
        })
    }

    /// Whether the field collects unknown tagged fields.
    pub(crate) fn is_unknown_tags(&self) -> bool {
        last_segment_is(&self.ty, "UnknownTags")
    }

    /// The number of bytes, where it is the same for all values.
    pub(crate) fn fixed_size(&self) -> Option<usize> {
        let Type::Path(path) = &self.ty else {
            return None;
        };
        match path.path.segments.last()?.ident.to_string().as_str() {
            "bool" | "i8" => Some(1),
            "i16" | "u16" | "ErrorCode" => Some(2),
            "i32" | "u32" => Some(4),
            "i64" | "f64" => Some(8),
            "Uuid" => Some(16),
            _ => None,
        }
    }

    /// An expression: does the field exist in version `v`? `None`: always.
    pub(crate) fn present(&self) -> Option<TokenStream> {
        condition(self.attributes.versions)
    }

    /// An expression: may the field be null in version `v`?
    pub(crate) fn nullable(&self) -> TokenStream {
        match self.attributes.nullable {
            Some(versions) => condition(versions).unwrap_or_else(|| quote!(true)),
            None => quote!(true),
        }
    }

    /// The value of the field where nothing else is said. A field that is null in some
    /// versions only must not start as null.
    pub(crate) fn default(&self) -> TokenStream {
        match (&self.attributes.default, &self.inner) {
            (Some(expr), _) if is_null(expr) => quote!(::core::option::Option::None),
            (Some(expr), None) => value(expr),
            (Some(expr), Some(_)) => {
                let value = value(expr);
                quote!(::core::option::Option::Some(#value))
            }
            (None, Some(inner)) if self.attributes.nullable.is_some() => {
                quote!(::core::option::Option::Some(<#inner as ::core::default::Default>::default()))
            }
            (None, _) => quote!(::core::default::Default::default()),
        }
    }

    /// An expression of type `Result<Self::Type, Fault>`, with `r` and `v` in scope.
    pub(crate) fn read(&self) -> TokenStream {
        let (ty, name) = (&self.ty, &self.name);
        match &self.inner {
            None => quote!(::ackord_proto::wire::read_field::<#ty>(r, v, #name)),
            Some(inner) => {
                let nullable = self.nullable();
                quote!(::ackord_proto::wire::read_nullable_field::<#inner>(r, v, #nullable, #name))
            }
        }
    }

    /// An expression of type `Result<(), EncodeError>`, with `sink` and `v` in scope.
    pub(crate) fn write(&self, sink: &TokenStream) -> TokenStream {
        let (ident, name) = (&self.ident, &self.name);
        match &self.inner {
            None => quote!(::ackord_proto::wire::write_field(&self.#ident, #sink, v, #name)),
            Some(_) => {
                let nullable = self.nullable();
                quote! {
                    ::ackord_proto::wire::write_nullable_field(
                        &self.#ident, #sink, v, #nullable, #name,
                    )
                }
            }
        }
    }

    /// The least number of bytes the field takes in version `v`.
    pub(crate) fn min_size(&self) -> TokenStream {
        let size = match &self.inner {
            None => {
                let ty = &self.ty;
                quote!(<#ty as ::ackord_proto::wire::Wire>::min_size(v))
            }
            Some(inner) => quote!(<#inner as ::ackord_proto::wire::Nullable>::null_size(v)),
        };
        match self.present() {
            None => size,
            Some(present) => quote!(if #present { #size } else { 0 }),
        }
    }
}

fn condition(versions: Versions) -> Option<TokenStream> {
    match (versions.from, versions.to) {
        (None | Some(0), None) => None,
        (Some(from), None) => Some(quote!((v.version >= #from))),
        (None | Some(0), Some(to)) => Some(quote!((v.version <= #to))),
        (Some(from), Some(to)) => Some(quote!((#from..=#to).contains(&v.version))),
    }
}

fn value(expr: &Expr) -> TokenStream {
    match expr {
        Expr::Lit(lit) if matches!(lit.lit, Lit::Str(_)) => {
            quote!(::ackord_proto::str::Str::from(#lit))
        }
        other => quote!(#other),
    }
}

fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Path(path) if path.path.is_ident("null"))
}

fn last_segment_is(ty: &Type, name: &str) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|s| s.ident == name))
}

fn argument_of<'a>(ty: &'a Type, name: &str) -> Option<&'a Type> {
    let Type::Path(path) = ty else { return None };
    let segment = path.path.segments.last().filter(|s| s.ident == name)?;
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
        return None;
    };
    match arguments.args.first()? {
        GenericArgument::Type(inner) => Some(inner),
        _ => None,
    }
}
