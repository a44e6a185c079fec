//! `#[derive(Key)]` for the crate `mayhap`: use it through that crate's feature `derive`.

use proc_macro::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Index, Member, parse_macro_input, parse_quote};

/// Makes a struct a key: its fields in the order they are declared, each with its length, as `mayhap::Fields` has them.
///
/// Changing the order or the type of a field changes the key. Names are not part of it.
#[proc_macro_derive(Key)]
pub fn derive_key(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    implement(input)
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}

fn implement(mut input: DeriveInput) -> syn::Result<proc_macro2::TokenStream> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new_spanned(
            &input.ident,
            "Key is derived for structs only: implement it by hand, with mayhap::Fields",
        ));
    };
    for parameter in input.generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(::mayhap::Key));
    }
    let members = data.fields.iter().enumerate().map(|(index, field)| {
        let number = || Member::Unnamed(Index::from(index));
        field.ident.clone().map_or_else(number, Member::Named)
    });
    let name = &input.ident;
    let (parameters, arguments, conditions) = input.generics.split_for_impl();
    Ok(quote! {
        impl #parameters ::mayhap::Key for #name #arguments #conditions {
            fn key_bytes(&self) -> impl ::core::convert::AsRef<[u8]> {
                ::mayhap::Fields::new() #(.field(&self.#members))*
            }
        }
    })
}
