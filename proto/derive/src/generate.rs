//! The implementations for one struct.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Fields, Ident};

use crate::attributes::{Kind, StructAttributes};
use crate::fields::Field;

/// A struct, its fields split by how they travel.
struct Description {
    ident: Ident,
    plain: Vec<Field>,
    /// In the order of their tags.
    tagged: Vec<Field>,
    unknown: Option<Ident>,
}

pub(crate) fn expand(input: &DeriveInput) -> syn::Result<TokenStream> {
    let attributes = StructAttributes::parse(&input.attrs)?;
    let description = Description::parse(input)?;
    let wire = description.wire();
    let nullable = description.nullable();
    let default = description.default();
    let message = message(&description.ident, &attributes)?;
    Ok(quote! {
        #wire
        #nullable
        #default
        #message
    })
}

impl Description {
    fn parse(input: &DeriveInput) -> syn::Result<Self> {
        let Data::Struct(data) = &input.data else {
            return Err(syn::Error::new_spanned(
                input,
                "only structs travel on the wire",
            ));
        };
        let Fields::Named(named) = &data.fields else {
            return Err(syn::Error::new_spanned(input, "fields need names"));
        };
        let mut result = Self {
            ident: input.ident.clone(),
            plain: Vec::new(),
            tagged: Vec::new(),
            unknown: None,
        };
        for field in &named.named {
            let field = Field::parse(field)?;
            if field.is_unknown_tags() {
                result.unknown = Some(field.ident);
            } else if field.attributes.tag.is_some() {
                result.tagged.push(field);
            } else {
                result.plain.push(field);
            }
        }
        result.tagged.sort_by_key(|field| field.attributes.tag);
        Ok(result)
    }

    fn wire(&self) -> TokenStream {
        let ident = &self.ident;
        let (min_size, read, write, print) =
            (self.min_size(), self.read(), self.write(), self.print());
        quote! {
            impl ::ackord_proto::wire::Wire for #ident {
                fn min_size(v: ::ackord_proto::wire::Layout) -> usize {
                    #min_size
                }

                fn read(
                    r: &mut ::ackord_proto::reader::Reader,
                    v: ::ackord_proto::wire::Layout,
                ) -> ::core::result::Result<Self, ::ackord_proto::reader::Fault> {
                    #read
                }

                fn write<S: ::ackord_proto::writer::Sink>(
                    &self,
                    s: &mut S,
                    v: ::ackord_proto::wire::Layout,
                ) -> ::core::result::Result<(), ::ackord_proto::message::EncodeError> {
                    #write
                }
            }

            impl ::ackord_proto::printer::Print for #ident {
                fn print(
                    &self,
                    p: &mut ::ackord_proto::printer::Printer,
                    v: ::ackord_proto::wire::Layout,
                ) {
                    #print
                }
            }
        }
    }

    fn min_size(&self) -> TokenStream {
        let sizes = self.plain.iter().map(Field::min_size);
        quote!(usize::from(v.flexible) #(+ #sizes)*)
    }

    fn read(&self) -> TokenStream {
        let always = |field: &Field| field.fixed_size().filter(|_| field.present().is_none());
        let plain = runs(&self.plain, always).into_iter().map(|run| match run {
            [field] => {
                let (ident, ty, read) = (&field.ident, &field.ty, field.read());
                match field.present() {
                    None => quote!(let #ident: #ty = #read?;),
                    Some(present) => {
                        let default = field.default();
                        quote!(let #ident: #ty = if #present { #read? } else { #default };)
                    }
                }
            }
            fields => read_run(fields),
        });
        let tags = self.read_tags();
        let plain_idents = self.plain.iter().map(|field| &field.ident);
        let tagged_idents = self.tagged.iter().map(|field| &field.ident);
        let unknown = self.unknown.iter();
        quote! {
            #(#plain)*
            #tags
            ::core::result::Result::Ok(Self {
                #(#plain_idents,)*
                #(#tagged_idents,)*
                #(#unknown: unknown,)*
            })
        }
    }

    fn read_tags(&self) -> TokenStream {
        if self.tagged.is_empty() {
            return match self.unknown {
                Some(_) => quote!(let unknown = r.unknown_tags(v)?;),
                None => quote!(r.unknown_tags(v)?;),
            };
        }
        let start = self.tagged.iter().map(|field| {
            let (ident, ty, default) = (&field.ident, &field.ty, field.default());
            quote!(let mut #ident: #ty = #default;)
        });
        let arms = self.tagged.iter().map(|field| {
            let (ident, read) = (&field.ident, field.read());
            let tag = field.attributes.tag;
            let check = field.present().map(|present| {
                quote!(if !#present { return ::core::result::Result::Err(r.tag_not_in_version()); })
            });
            quote!(#tag => { #check #ident = #read?; })
        });
        let unknown = match self.unknown {
            Some(_) => quote!(unknown.insert(tag, r.take(size)?.into());),
            None => quote!(r.skip(size)?;),
        };
        let declare = self
            .unknown
            .iter()
            .map(|_| quote!(let mut unknown = ::ackord_proto::tags::UnknownTags::default();));
        quote! {
            #(#start)*
            #(#declare)*
            if v.flexible {
                for _ in 0..r.tag_count()? {
                    let (tag, size, end) = r.tag_start()?;
                    let _ = size;
                    match tag {
                        #(#arms)*
                        _ => { #unknown }
                    }
                    r.tag_end(end)?;
                }
            }
        }
    }

    fn write(&self) -> TokenStream {
        let runs = runs(&self.plain, Field::fixed_size);
        let last = runs.len().saturating_sub(1);
        // Without tagged fields the end of the struct belongs to its last run.
        let mut ended = false;
        let plain: Vec<_> = runs
            .into_iter()
            .enumerate()
            .map(|(index, run)| match run {
                [field] if field.fixed_size().is_none() => {
                    let write = field.write(&quote!(s));
                    only_where_present(field, quote!(#write?;))
                }
                fields if index == last && self.tagged.is_empty() => {
                    ended = true;
                    self.write_last_run(fields)
                }
                fields => write_run(fields, &TokenStream::new()),
            })
            .collect();
        let tags = if ended {
            TokenStream::new()
        } else {
            self.write_tags()
        };
        quote! {
            #(#plain)*
            #tags
            ::core::result::Result::Ok(())
        }
    }

    /// The last run of a struct that knows no tagged fields, and the end of the struct.
    fn write_last_run(&self, fields: &[Field]) -> TokenStream {
        let end = quote!(run.add_no_tags(v););
        let Some(unknown) = &self.unknown else {
            return write_run(fields, &end);
        };
        let end = quote! {
            if self.#unknown.is_empty() {
                #end
            }
        };
        let run = write_run(fields, &end);
        quote! {
            #run
            if !self.#unknown.is_empty() {
                ::ackord_proto::tags::write_unknown(s, &self.#unknown, v)?;
            }
        }
    }

    fn write_tags(&self) -> TokenStream {
        if self.tagged.is_empty() {
            return match &self.unknown {
                Some(ident) => {
                    quote!(::ackord_proto::tags::write_unknown(s, &self.#ident, v)?;)
                }
                None => quote!(::ackord_proto::tags::write_none(s, v);),
            };
        }
        let marks: Vec<_> = self
            .tagged
            .iter()
            .map(|field| format_ident!("has_{}", field.ident))
            .collect();
        let decide = self.tagged.iter().zip(&marks).map(|(field, mark)| {
            let (ident, default) = (&field.ident, field.default());
            let refuse = refuse_unless_default(field);
            match field.present() {
                None => quote!(let #mark = !::ackord_proto::wire::same(&self.#ident, &#default);),
                Some(present) => quote! {
                    let #mark = #present && !::ackord_proto::wire::same(&self.#ident, &#default);
                    if !#present { #refuse }
                },
            }
        });
        let unknown = match &self.unknown {
            Some(ident) => quote!(&self.#ident),
            None => quote!(::ackord_proto::tags::UnknownTags::none()),
        };
        let known = self.tagged.iter().zip(&marks).map(|(field, mark)| {
            let tag = field.attributes.tag;
            let count = field.write(&quote!(&mut counter));
            let write = field.write(&quote!(s));
            quote! {
                if #mark {
                    unknown.write_range(s, next..#tag);
                    next = #tag + 1;
                    let mut counter = ::ackord_proto::writer::Counter::default();
                    #count?;
                    ::ackord_proto::tags::write_tag_start(s, #tag, counter.total());
                    #write?;
                }
            }
        });
        let next = if self.tagged.is_empty() {
            quote!(let next)
        } else {
            quote!(let mut next)
        };
        quote! {
            let unknown = #unknown;
            #(#decide)*
            if v.flexible {
                let count = unknown.len() #(+ usize::from(#marks))*;
                ::ackord_proto::tags::write_tag_count(s, count);
                if count > 0 {
                    #next = 0;
                    #(#known)*
                    unknown.write_range(s, next..);
                }
            } else if !unknown.is_empty() {
                return ::core::result::Result::Err(
                    ::ackord_proto::message::EncodeError::field_not_in_version("unknown_tags", v),
                );
            }
        }
    }

    fn print(&self) -> TokenStream {
        let plain = self.plain.iter().map(|field| {
            let (ident, name) = (&field.ident, &field.name);
            let print = quote! {
                p.name(#name);
                ::ackord_proto::printer::Print::print(&self.#ident, p, v);
            };
            match field.present() {
                None => print,
                Some(present) => quote!(if #present { #print }),
            }
        });
        let tagged = self.tagged.iter().map(|field| {
            let (ident, name, default) = (&field.ident, &field.name, field.default());
            quote! {
                if !::ackord_proto::wire::same(&self.#ident, &#default) {
                    p.name(#name);
                    ::ackord_proto::printer::Print::print(&self.#ident, p, v);
                }
            }
        });
        let unknown = self.unknown.iter();
        quote! {
            let _ = v;
            p.open();
            #(#plain)*
            #(#tagged)*
            #(self.#unknown.print(p);)*
            p.close();
        }
    }

    fn nullable(&self) -> TokenStream {
        let ident = &self.ident;
        quote! {
            impl ::ackord_proto::wire::Nullable for #ident {
                fn null_size(_: ::ackord_proto::wire::Layout) -> usize {
                    1
                }

                fn read_nullable(
                    r: &mut ::ackord_proto::reader::Reader,
                    v: ::ackord_proto::wire::Layout,
                ) -> ::core::result::Result<
                    ::core::option::Option<Self>,
                    ::ackord_proto::reader::Fault,
                > {
                    ::ackord_proto::wire::read_nullable_struct(r, v)
                }

                fn write_nullable<S: ::ackord_proto::writer::Sink>(
                    this: ::core::option::Option<&Self>,
                    s: &mut S,
                    v: ::ackord_proto::wire::Layout,
                ) -> ::core::result::Result<(), ::ackord_proto::message::EncodeError> {
                    ::ackord_proto::wire::write_nullable_struct(this, s, v)
                }
            }
        }
    }

    fn default(&self) -> TokenStream {
        let ident = &self.ident;
        let fields = self.plain.iter().chain(&self.tagged).map(|field| {
            let (ident, default) = (&field.ident, field.default());
            quote!(#ident: #default,)
        });
        let unknown = self.unknown.iter();
        quote! {
            impl ::core::default::Default for #ident {
                fn default() -> Self {
                    Self {
                        #(#fields)*
                        #(#unknown: ::core::default::Default::default(),)*
                    }
                }
            }
        }
    }
}

/// The most bytes of neighbours that are handled in one step.
const RUN: usize = 64;

/// Cuts the fields into runs: neighbours of fixed size together, all others alone.
fn runs(fields: &[Field], size: impl Fn(&Field) -> Option<usize>) -> Vec<&[Field]> {
    let mut runs = Vec::new();
    let mut rest = fields;
    while !rest.is_empty() {
        let mut total = 0;
        let fitting = rest.iter().take_while(|field| match size(field) {
            Some(size) => {
                total += size;
                total <= RUN
            }
            None => false,
        });
        let (run, after) = rest.split_at(fitting.count().max(1));
        runs.push(run);
        rest = after;
    }
    runs
}

/// Reads neighbours of fixed size, all of them in every version.
fn read_run(fields: &[Field]) -> TokenStream {
    let sizes: Vec<_> = fields.iter().filter_map(Field::fixed_size).collect();
    let names = fields.iter().map(|field| &field.name);
    let total: usize = sizes.iter().sum();
    let offsets = sizes.iter().scan(0, |next, size| {
        let offset = *next;
        *next += size;
        Some(offset)
    });
    let values = fields.iter().zip(offsets).map(|(field, offset)| {
        let (ident, ty) = (&field.ident, &field.ty);
        quote!(let #ident = <#ty as ::ackord_proto::wire::Fixed>::at(&run, #offset);)
    });
    quote! {
        let run = r.fixed::<#total>(&[#((#names, #sizes)),*])?;
        #(#values)*
    }
}

/// Writes fields of fixed size in one step.
fn write_run(fields: &[Field], end: &TokenStream) -> TokenStream {
    // One more byte for the end of the struct.
    let size = 1 + fields.iter().filter_map(Field::fixed_size).sum::<usize>();
    let add = fields.iter().map(|field| {
        let ident = &field.ident;
        let add = quote!(::ackord_proto::wire::Fixed::add_to(&self.#ident, run););
        only_where_present(field, add)
    });
    quote! {
        s.put_run::<#size>(|run| {
            #(#add)*
            #end
            ::core::result::Result::Ok(())
        })?;
    }
}

/// Code for a field in the versions that have it, and the refusal of its value in others.
fn only_where_present(field: &Field, write: TokenStream) -> TokenStream {
    match field.present() {
        None => write,
        Some(present) => {
            let refuse = refuse_unless_default(field);
            quote!(if #present { #write } else { #refuse })
        }
    }
}

/// Kafka refuses to drop a value in silence unless the field is ignorable.
fn refuse_unless_default(field: &Field) -> TokenStream {
    if field.attributes.ignorable {
        return TokenStream::new();
    }
    let (ident, name, default) = (&field.ident, &field.name, field.default());
    quote! {
        if !::ackord_proto::wire::same(&self.#ident, &#default) {
            return ::core::result::Result::Err(
                ::ackord_proto::message::EncodeError::field_not_in_version(#name, v),
            );
        }
    }
}

fn message(ident: &Ident, attributes: &StructAttributes) -> syn::Result<TokenStream> {
    let Some(kind) = attributes.kind else {
        return Ok(TokenStream::new());
    };
    let missing = |what: &str| syn::Error::new_spanned(ident, format!("a message needs {what}"));
    let name = ident.to_string();
    let (kind, api) = match (kind, &attributes.api) {
        (Kind::Data, _) => (quote!(Data), quote!(-1)),
        (_, None) => return Err(missing("api = KEY")),
        (Kind::Request, Some(api)) => (quote!(Request), quote!(#api)),
        (Kind::Response, Some(api)) => (quote!(Response), quote!(#api)),
    };
    let from = attributes
        .versions
        .from
        .ok_or_else(|| missing("versions = A..=B"))?;
    let to = attributes
        .versions
        .to
        .ok_or_else(|| missing("versions = A..=B"))?;
    let flexible = match attributes.flexible {
        Some(version) => quote!(::core::option::Option::Some(#version)),
        None => quote!(::core::option::Option::None),
    };
    Ok(quote! {
        impl ::ackord_proto::message::Message for #ident {
            const NAME: &'static str = #name;
            const API_KEY: i16 = #api;
            const KIND: ::ackord_proto::message::Kind = ::ackord_proto::message::Kind::#kind;
            const VERSIONS: ::core::ops::RangeInclusive<i16> = #from..=#to;
            const FLEXIBLE_FROM: ::core::option::Option<i16> = #flexible;
        }
    })
}
