//! Types: `.class` and its contents (II.10).

use ecma335::{
    MAX_NESTING, Rid, Table, Token,
    schema::{self, Field, InterfaceImpl, MethodDef, MethodImpl, TypeDef},
};

use super::{flags, generics, ilasm::Ilasm, lines::Lines, members, order::is_com_interface, printer::Printer, security, values};

impl Printer<'_, '_, '_> {
    /// Prints a type and its nested types, if the filter includes it or one of them.
    pub(crate) fn print(&mut self, rid: Rid<TypeDef>, depth: usize, lines: &mut Lines) {
        if !self.wants(rid, depth) {
            return;
        }
        self.names.enter_type(rid);
        if self.names.is_module_type(rid) {
            return self.members(rid, lines);
        }
        self.full_head(rid, lines);
        lines.open();
        if self.is_whole(rid) {
            self.head(rid, lines);
        }
        if depth > 0 && self.names.metadata.row(rid).is_ok_and(|row| is_com_interface(&row)) {
            lines.comment("Mono's ilasm numbers these methods as the code around mentions them, and COM goes by this order");
        }
        if depth < MAX_NESTING {
            for inner in self.names.nested(rid) {
                self.print(inner, depth + 1, lines);
            }
        } else {
            lines.comment("types are nested in each other without end");
        }
        self.names.enter_type(rid);
        self.members(rid, lines);
        lines.close_with(format_args!("end of type {}", self.names.type_ref(Token::from(rid)).unwrap_or_default()));
        lines.blank();
    }

    /// `.class public Order<T>`
    pub(crate) fn head_line(&self, rid: Rid<TypeDef>, lines: &mut Lines) {
        let token = Token::new(Table::TypeDef, rid.get());
        match self.names.metadata.row(rid) {
            Ok(row) => {
                let tokens = if self.options.tokens { format!("  // {token}") } else { String::new() };
                let name = self.names.own_type_name(rid, &row);
                let words = flags::type_words(row.flags);
                lines.line(format_args!(".class {words}{name}{}{tokens}", generics::list(self.names, token)));
            }
            Err(error) => lines.comment(error),
        }
    }

    /// Prints all before a type's braces (II.10.1).
    pub fn full_head(&self, rid: Rid<TypeDef>, lines: &mut Lines) {
        self.head_line(rid, lines);
        let parent = self.names.metadata.row(rid).ok().and_then(|row| row.extends.token());
        if let Some(parent) = parent.filter(|parent| parent.rid() != 0) {
            lines.line(format_args!("  extends {}", self.parent(parent)));
        }
        let interfaces = self.names.by_parent.interfaces.children::<InterfaceImpl>(rid.get());
        let interfaces: Vec<String> = interfaces.map(|rid| self.interface(rid)).collect();
        if !interfaces.is_empty() {
            lines.line(format_args!("  implements {}", interfaces.join(", ")));
        }
    }

    /// Whether the filter includes a type, one of its methods, or either in a nested type.
    fn wants(&self, rid: Rid<TypeDef>, depth: usize) -> bool {
        if self.filter.is_empty() {
            return true;
        }
        let name = &self.names.plain_type_name(rid);
        self.filter.has_type(name)
            || (self.names.metadata.children::<_, MethodDef>(rid))
                .any(|method| self.filter.has_method(name, &self.method_name(method)))
            || depth < MAX_NESTING && self.names.nested(rid).into_iter().any(|inner| self.wants(inner, depth + 1))
    }

    /// Whether the filter includes the whole type, or is empty.
    fn is_whole(&self, rid: Rid<TypeDef>) -> bool {
        self.filter.is_empty() || self.filter.has_type(&self.names.plain_type_name(rid))
    }

    fn method_name(&self, rid: Rid<schema::MethodDef>) -> String {
        self.names.metadata.row(rid).and_then(|row| self.names.metadata.name(row.name)).unwrap_or_default()
    }

    fn parent(&self, token: Token) -> String {
        self.names.type_ref(token).unwrap_or_else(|error| format!("/* {error} */"))
    }

    fn interface(&self, rid: Rid<InterfaceImpl>) -> String {
        let token = self.names.metadata.row(rid).ok().and_then(|row| row.interface.token());
        self.parent(token.unwrap_or_default())
    }

    /// Prints layout, attributes, permissions, and overrides by methods of other types.
    pub fn head(&self, rid: Rid<TypeDef>, lines: &mut Lines) {
        let token = Token::new(Table::TypeDef, rid.get());
        let layout: Option<schema::ClassLayout> = self.names.by_parent.layouts.first(self.names.metadata, rid.get());
        // A layout of zeros means the same as none (II.22.8).
        let is_default = |layout: &schema::ClassLayout| layout.packing_size == 0 && layout.class_size == 0;
        if let Some(layout) = layout.filter(|layout| !(self.names.for_comparison && is_default(layout))) {
            lines.line(format_args!(".pack {}", layout.packing_size));
            lines.line(format_args!(".size {}", layout.class_size));
        }
        values::attributes(self.names, token, lines);
        // Behind a `.param type`, .NET's ilasm would look without end for the interface of `.interfaceimpl`.
        for rid in self.names.by_parent.interfaces.children::<InterfaceImpl>(rid.get()) {
            let of = format!(".interfaceimpl type {}", self.interface(rid));
            let token = Token::new(Table::InterfaceImpl, rid.get());
            match self.names.ilasm {
                Ilasm::DotNet => values::attributes_each_behind(self.names, token, &of, lines),
                Ilasm::Mono => values::attributes_as_comments(self.names, token, &of, lines),
            }
        }
        generics::attributes(self.names, token, lines);
        security::permissions(self.names, token, lines);
        for row in
            self.names.by_parent.overrides.children::<MethodImpl>(rid.get()).filter_map(|rid| self.names.metadata.row(rid).ok())
        {
            let body = row.body.token().unwrap_or_default();
            let is_own = body.rid_in().is_some_and(|method| self.names.method_owner(method) == rid);
            if !is_own {
                let text = |token| self.names.open_method(token).unwrap_or_else(|error| error.to_string());
                let declaration = text(row.declaration.token().unwrap_or_default());
                lines.comment(format_args!(".override method {declaration} with method {}", text(body)));
            }
        }
    }

    fn members(&mut self, rid: Rid<TypeDef>, lines: &mut Lines) {
        let is_whole = self.is_whole(rid);
        let name = if is_whole { String::new() } else { self.names.plain_type_name(rid) };
        let metadata = self.names.metadata;
        if is_whole {
            for field in metadata.children::<_, Field>(rid) {
                members::field(self, field, lines);
            }
        }
        for method in metadata.children::<_, MethodDef>(rid) {
            if is_whole || self.filter.has_method(&name, &self.method_name(method)) {
                members::method(self, rid, method, lines);
                self.pass_on(lines);
            }
        }
        if is_whole {
            members::properties(self, rid, lines);
            members::events(self, rid, lines);
        }
    }
}
