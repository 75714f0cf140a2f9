//! Globs over names in metadata and in the source, as regular expressions.

/// The regular expression of a glob: `*` is anything, `?` one character, and case counts.
pub(super) fn glob(glob: &str) -> String {
    glob.chars().map(one_character).collect()
}

fn one_character(character: char) -> String {
    match character {
        '*' => ".*".into(),
        '?' => ".".into(),
        _ => regex::escape(character.encode_utf8(&mut [0; 4])),
    }
}

/// The number of a type's type parameters, which metadata appends to its name, if it has any.
pub(super) const ARITY: &str = "(?:`[0-9]+)?";

/// The regular expression of a glob in source form: `Outer.Inner` and `Outer+Inner` for `Outer/Inner`, `Map<K, V>` for
/// ``Map`2``. Type parameters of methods are dropped, as metadata's names lack them. `arity` may follow a type's name.
pub(super) fn written_glob(glob: &str, arity: &str) -> String {
    let (type_name, method) = glob.split_once("::").map_or((glob, None), |(type_name, method)| (type_name, Some(method)));
    let separated = |character| match character {
        '.' | '+' => format!("{arity}[./]"),
        '/' => format!("{arity}/"),
        _ => one_character(character),
    };
    let mut expression = with_arity(type_name, |count| format!("`{count}")).chars().map(separated).collect::<String>() + arity;
    if let Some(method) = method {
        expression.push_str("::");
        expression.extend(with_arity(method, |_| String::new()).chars().map(one_character));
    }
    expression
}

/// The name with its method after `::` in place of the last dot, as in `Order.Total` or `Order..ctor`. `None` if there is
/// no dot outside `<>`.
pub(super) fn dotted(name: &str) -> Option<String> {
    let constructor = [".ctor", ".cctor"].into_iter().find_map(|own| Some((name.strip_suffix(own)?.strip_suffix('.')?, own)));
    let (type_name, method) = constructor.or_else(|| name.rsplit_once('.'))?;
    let is_name = !type_name.is_empty() && !method.is_empty() && !name.contains("::");
    (is_name && method.matches('<').count() == method.matches('>').count())
        .then(|| written_glob(&format!("{type_name}::{method}"), ARITY))
}

/// The name with each list of type parameters replaced. A `<` at the start of a name begins a compiler-generated name.
fn with_arity(name: &str, arity: impl Fn(usize) -> String) -> String {
    let mut out = String::new();
    let mut rest = name;
    while let Some(at) = rest.find('<') {
        let (before, list) = rest.split_at(at);
        let is_list = before.ends_with(|last: char| last.is_alphanumeric() || matches!(last, '_' | '>'));
        let mut depth = 0_usize;
        let mut count = 1;
        let end = list.char_indices().find_map(|(index, character)| {
            match character {
                '<' => depth += 1,
                '>' => depth -= 1,
                ',' if depth == 1 => count += 1,
                _ => {}
            }
            (depth == 0).then_some(index + 1)
        });
        let Some((list, behind)) = end.filter(|_| is_list).map(|end| list.split_at(end)) else {
            let (sign, behind) = list.split_at(1);
            out = out + before + sign;
            rest = behind;
            continue;
        };
        debug_assert!(list.ends_with('>'));
        out = out + before + &arity(count);
        rest = behind;
    }
    out + rest
}
