/* SPDX-License-Identifier: Apache-2.0 */
/* The registered tools. */
#include "mcp/catalog.h"

#include "mcp/limits.h"

#include <stdio.h>

enum {
	MAX_TOOL_NAME = 64,     /* longer ones make clients drop the whole list */
	MAX_LISTED_UNKNOWN = 5, /* unknown arguments named in one sentence */
	RESULT_CHARS = 200000,  /* a result text of ours is never longer than this */
};

static const char sandbox_name[] = "sandbox";

struct catalog_tool {
	const struct mcp_tool *tool; /* borrowed */
	json_t *properties;          /* without `sandbox` */
	json_t *required;
};

struct catalog {
	json_t *sandbox; /* schema of the `sandbox` property */
	struct catalog_tool *tools;
	size_t n_tools;
	struct buf text[CATALOG_NUM_VIEWS];
};

int catalog_new(const char *sandbox_property, struct catalog **ret, struct err *err)
{
	struct catalog *c = calloc(1, sizeof(*c));

	if (!c)
		return err_sys(err, ENOMEM, "tool catalog");
	c->sandbox = json_parse(view_str(sandbox_property ? sandbox_property : "{}"), err);
	if (!json_is_object(c->sandbox)) {
		catalog_free(c);
		return err_set(err, ERR_INVALID, "the schema of `sandbox` is no JSON object");
	}
	for (size_t i = 0; i < CATALOG_NUM_VIEWS; i++)
		buf_init(&c->text[i], MCP_MAX_TOOLS_TEXT);
	*ret = c;
	return 0;
}

void catalog_free(struct catalog *catalog)
{
	if (!catalog)
		return;
	for (size_t i = 0; i < catalog->n_tools; i++) {
		json_decref(catalog->tools[i].properties);
		json_decref(catalog->tools[i].required);
	}
	free(catalog->tools);
	for (size_t i = 0; i < CATALOG_NUM_VIEWS; i++)
		buf_done(&catalog->text[i]);
	json_decref(catalog->sandbox);
	free(catalog);
}

/* What every client takes; a dot, for one, makes some drop the whole list. */
static bool is_tool_name(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < len; i++) {
		char c = name[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      c == '_' || c == '-'))
			return false;
	}
	return len >= 1 && len <= MAX_TOOL_NAME;
}

/* The input schema: the tool's own whole one, or one made of its properties. */
static json_t *make_schema(const struct catalog *c, const struct catalog_tool *t,
			   enum catalog_view view)
{
	auto_json json_t *properties = json_copy(t->properties);

	if (view == CATALOG_LABELS && t->tool->takes_sandbox &&
	    json_object_set(properties, sandbox_name, c->sandbox) < 0)
		return NULL;
	/* An empty "required" is an error to validators of older drafts. */
	return json_pack("{s:s, s:O, s:O*, s:b}", "type", "object", "properties", properties,
			 "required", json_array_size(t->required) ? t->required : NULL,
			 "additionalProperties", 0);
}

static json_t *make_entry(const struct mcp_tool *tool, json_t *schema)
{
	return json_pack("{s:s, s:s, s:s, s:O, s:{s:s, s:b, s:b, s:b, s:b}, s:{s:i}}", "name",
			 tool->name, "title", tool->title, "description", tool->description,
			 "inputSchema", schema, "annotations", "title", tool->title, "readOnlyHint",
			 tool->read_only, "destructiveHint", tool->destructive, "idempotentHint",
			 tool->read_only, "openWorldHint", tool->open_world, "_meta",
			 "anthropic/maxResultSizeChars", RESULT_CHARS);
}

static int add_text(struct catalog *c, const struct catalog_tool *t, json_t *whole_schema,
		    enum catalog_view view, struct err *err)
{
	struct buf *text = &c->text[view];
	auto_json json_t *schema =
		whole_schema ? json_incref(whole_schema) : make_schema(c, t, view);
	auto_json json_t *entry = schema ? make_entry(t->tool, schema) : NULL;

	if (!entry)
		return err_set(err, ERR_INVALID, "its texts are no valid JSON");
	if (text->len && buf_add_char(text, ',') < 0)
		return err_set(err, ERR_FULL, "too many tools");
	return json_print(text, entry, err);
}

/* Reads what the tool declares; `*ret_schema` is its whole schema if it has its own, else NULL. */
static int read_tool(const struct mcp_tool *tool, struct catalog_tool *ret, json_t **ret_schema,
		     struct err *err)
{
	const char *required = tool->required ? tool->required : "[]";

	ret->tool = tool;
	if (tool->input_schema) {
		*ret_schema = json_parse(view_str(tool->input_schema), err);
		if (!*ret_schema)
			return -1;
		ret->properties = json_incref(json_object_get(*ret_schema, "properties"));
		ret->required = json_incref(json_object_get(*ret_schema, "required"));
		if (!ret->required)
			ret->required = json_array();
	} else {
		ret->properties = json_parse(view_str(tool->properties), err);
		if (!ret->properties)
			return -1;
		ret->required = json_parse(view_str(required), err);
		if (!ret->required)
			return -1;
	}
	if (!json_is_object(ret->properties) || !json_is_array(ret->required))
		return err_set(err, ERR_INVALID, "properties or required has the wrong type");
	return 0;
}

static int append(struct catalog *c, const struct catalog_tool *t, json_t *schema, struct err *err)
{
	size_t mark[CATALOG_NUM_VIEWS];
	struct catalog_tool *tools;

	tools = reallocarray(c->tools, c->n_tools + 1, sizeof(*tools));
	if (!tools)
		return err_sys(err, ENOMEM, "tool catalog");
	c->tools = tools;
	for (int view = 0; view < CATALOG_NUM_VIEWS; view++)
		mark[view] = c->text[view].len;
	for (int view = 0; view < CATALOG_NUM_VIEWS; view++) {
		if (add_text(c, t, schema, (enum catalog_view)view, err) == 0)
			continue;
		for (int i = 0; i <= view; i++)
			buf_truncate(&c->text[i], mark[i]);
		return -1;
	}
	tools[c->n_tools++] = *t;
	return 0;
}

int catalog_add(struct catalog *catalog, const struct mcp_tool *tool, struct err *err)
{
	struct catalog_tool t = { 0 };
	auto_json json_t *schema = NULL;
	int r;

	if (!is_tool_name(tool->name))
		return err_set(err, ERR_INVALID, "tool name %s: clients would refuse it",
			       tool->name);
	if (catalog_find(catalog, view_str(tool->name)))
		return err_set(err, ERR_EXISTS, "tool %s is there already", tool->name);
	r = read_tool(tool, &t, &schema, err);
	if (r == 0)
		r = append(catalog, &t, schema, err);
	if (r == 0)
		return 0;
	json_decref(t.properties);
	json_decref(t.required);
	return err_wrap(err, "tool %s", tool->name);
}

struct view catalog_text(const struct catalog *catalog, enum catalog_view view)
{
	return buf_view(&catalog->text[view]);
}

const struct catalog_tool *catalog_find(const struct catalog *catalog, struct view name)
{
	for (size_t i = 0; i < catalog->n_tools; i++)
		if (view_is(name, catalog->tools[i].tool->name))
			return &catalog->tools[i];
	return NULL;
}

const struct mcp_tool *catalog_tool(const struct catalog_tool *tool)
{
	return tool->tool;
}

const json_t *catalog_properties(const struct catalog_tool *tool)
{
	return tool->properties;
}

/* ---- arguments ---- */

static bool takes_sandbox(const struct catalog_tool *t, enum catalog_view view)
{
	return view == CATALOG_LABELS && t->tool->takes_sandbox;
}

static bool is_known(const struct catalog_tool *t, enum catalog_view view, const char *name)
{
	return json_object_get(t->properties, name) ||
	       (takes_sandbox(t, view) && strcmp(name, sandbox_name) == 0);
}

/* "It takes: a, b, c." What does not fit is left out. */
static int explain(const struct catalog_tool *t, enum catalog_view view, const char *what,
		   struct err *err)
{
	auto_buf struct buf names = BUF_INIT(240);
	const char *name;
	json_t *schema;

	json_object_foreach(t->properties, name,
			    schema) if (buf_addf(&names, "%s%s", names.len ? ", " : "", name) <
					0) break;
	if (takes_sandbox(t, view))
		(void)!buf_addf(&names, "%s%s", names.len ? ", " : "", sandbox_name);
	return err_set(err, ERR_INVALID, "%s. %s takes: %s. Nothing was done.", what, t->tool->name,
		       names.len ? buf_str(&names) : "no arguments");
}

static int check_known(const struct catalog_tool *t, enum catalog_view view,
		       const json_t *arguments, struct err *err)
{
	auto_buf struct buf what = BUF_INIT(220);
	int unknown = 0;
	const char *name;
	json_t *value;

	json_object_foreach(json_mutable(arguments), name, value)
	{
		if (is_known(t, view, name))
			continue;
		if (++unknown <= MAX_LISTED_UNKNOWN)
			(void)!buf_addf(&what, "%s\"%.40s\"", unknown == 1 ? "no argument " : ", ",
					name);
	}
	if (unknown == 0)
		return 0;
	if (unknown > MAX_LISTED_UNKNOWN)
		(void)!buf_addf(&what, " and %d more", unknown - MAX_LISTED_UNKNOWN);
	return explain(t, view, buf_str(&what), err);
}

static int check_required(const struct catalog_tool *t, enum catalog_view view,
			  const json_t *arguments, struct err *err)
{
	char what[120];
	const json_t *name;
	size_t i;

	json_array_foreach(t->required, i, name)
	{
		const json_t *value = json_object_get(arguments, json_string_value(name));

		if (value && !json_is_null(value))
			continue;
		(void)snprintf(what, sizeof(what), "the argument \"%s\" is missing",
			       json_string_value(name));
		return explain(t, view, what, err);
	}
	return 0;
}

int catalog_check_arguments(const struct catalog_tool *tool, enum catalog_view view,
			    const json_t *arguments, struct err *err)
{
	if (check_known(tool, view, arguments, err) < 0)
		return -1;
	return check_required(tool, view, arguments, err);
}
