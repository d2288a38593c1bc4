/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Universal Ctags says about source files (--output-format=json), as a bounded list.
 */
#ifndef BERTH_TOOLS_SYMBOLS_H
#define BERTH_TOOLS_SYMBOLS_H

#include "base/buf.h"

enum {
	SYMBOLS_MAX = 20000,
	SYMBOLS_MAX_TEXT = 4 * 1024 * 1024, /* of all names, paths, … of a list */
};

struct symbol {
	const char *name, *path;
	const char *scope, *kind, *signature; /* "" if there is none */
	uint32_t line, end;                   /* end is 0 where the parser does not know it */
};

struct symbols {
	struct symbol *list; /* in the order of path and line */
	size_t n, room;
	bool is_cut; /* there were more */
	struct buf text;
};

/* Those of one file; `path` without "./". */
struct symbols_of_file {
	const struct symbol *list;
	size_t n;
};
struct symbols_of_file symbols_of(const struct symbols *s, struct view path);

/* The options for ctags that the parser expects, without the files; NULL-terminated. */
extern const char *const symbols_ctags[];

/* Adds a line of ctags; one that is no tag is skipped, as are those past the limits. -ENOMEM. */
int symbols_add(struct symbols *s, struct view line) MUST_CHECK;
/* After the last line, before the list is used. */
void symbols_finish(struct symbols *s);
void symbols_done(struct symbols *s);
#define auto_symbols CLEANUP(symbols_done)

/* "run" of "Parser.run", "Parser::run", "parser->run", "Parser#run". */
struct view symbol_last_part(struct view name);
/* Whether a name as a model writes it ("run", "Parser.run", "Parser::run", "*Parser.run") names it.
 */
bool symbol_is_named(const struct symbol *s, struct view name);
/* A prototype, which has its definition elsewhere. */
bool symbol_is_declaration(const struct symbol *s);
bool symbol_is_method(const struct symbol *s);
/* Functions, classes, types: what an overview shows; not members, locals, imports. */
bool symbol_is_major(const struct symbol *s);

#endif
