//! Structs as keys.

use mayhap::Key;

#[derive(Key)]
struct Named<T> {
    first: T,
    second: String,
}

#[derive(Key)]
struct Unnamed<'a>(&'a str, [u32; 2]);

#[derive(Key)]
struct Empty;

fn bytes(key: &impl Key) -> Vec<u8> {
    key.key_bytes().as_ref().to_vec()
}

#[test]
fn a_struct_is_the_same_key_as_a_tuple_of_its_fields() {
    let named = Named {
        first: 7_u16,
        second: "b".into(),
    };
    assert_eq!(bytes(&named), bytes(&(7_u16, "b")));
    assert_eq!(
        bytes(&Unnamed("a", [1, 2])),
        bytes(&("a", [1_u32, 2])),
        "without names"
    );
    assert_eq!(bytes(&Empty), [0; 0]);
}
