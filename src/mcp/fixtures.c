/* SPDX-License-Identifier: Apache-2.0 */
/* The tools of the conformance suite. What they answer is fixed by the suite. */
#include "mcp/fixtures.h"

#include "mcp/internal.h"

/* A red pixel, and the head of an empty sound. */
#define PNG                                                                                        \
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5E" \
	"rkJggg=="
#define WAV "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="

#define TEXT(text) "{\"type\":\"text\",\"text\":\"" text "\"}"
#define IMAGE      "{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"" PNG "\"}"

/* What the tools get as their userdata. */
struct fixture {
	const char *name;
	mcp_tool_fn *fn;
	const char *content;
	const char *properties; /* NULL: none */
	const char *schema;
	const char *needs;
	sd_event *event; /* filled in below */
};

static void answer(struct mcp_call *call, void *userdata)
{
	const struct fixture *fixture = userdata;

	call_finish_content(call, MCP_OK, view_str(fixture->content));
}

static void answer_error(struct mcp_call *call, void *userdata)
{
	const struct fixture *fixture = userdata;

	call_finish_content(call, MCP_ERROR, view_str(fixture->content));
}

/* ---- progress: 0, 50 and 100 of 100, a little apart ---- */

enum { STEP = 50, STEPS = 100 };
#define STEP_TIME (50 * USEC_PER_MSEC)

struct run {
	struct mcp_call *call;
	sd_event_source *timer;
	uint64_t progress;
};

static void run_free(void *userdata)
{
	struct run *run = userdata;

	sd_event_source_disable_unref(run->timer);
	free(run);
}

static int run_step(sd_event_source *source, uint64_t when, void *userdata)
{
	struct run *run = userdata;
	struct mcp_call *call = run->call;

	(void)when;
	if (run->progress <= STEPS) {
		call_progress_now(call, run->progress, STEPS);
		run->progress += STEP;
		(void)sd_event_source_set_time_relative(source, STEP_TIME);
		(void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
		return 0;
	}
	run_free(run);
	mcp_call_finish(call, MCP_OK, VIEW("Tool with progress executed successfully."));
	return 0;
}

static void run_with_progress(struct mcp_call *call, void *userdata)
{
	const struct fixture *fixture = userdata;
	struct run *run = calloc(1, sizeof(*run));

	if (!run || sd_event_add_time_relative(fixture->event, &run->timer, CLOCK_MONOTONIC,
					       STEP_TIME, 1, run_step, run) < 0) {
		free(run);
		mcp_call_finishf(call, MCP_ERROR, "no timer");
		return;
	}
	run->call = call;
	mcp_call_on_cancel(call, run_free, run);
}

/* ---- the tools ---- */

static const char schema_2020_12[] =
	"{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\","
	"\"$defs\":{\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\",\"properties\":{"
	"\"street\":{\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}},"
	"\"properties\":{\"name\":{\"type\":\"string\"},\"address\":{\"$ref\":\"#/$defs/address\"},"
	"\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\",\"email\"]},"
	"\"phone\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}},"
	"\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],"
	"\"if\":{\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},"
	"\"required\":[\"contactMethod\"]},\"then\":{\"required\":[\"phone\"]},"
	"\"else\":{\"required\":[\"email\"]},\"additionalProperties\":false}";

static struct fixture fixtures[] = {
	{ "test_simple_text", answer, TEXT("This is a simple text response for testing.") },
	{ "test_image_content", answer, IMAGE },
	{ "test_audio_content", answer,
	  "{\"type\":\"audio\",\"mimeType\":\"audio/wav\",\"data\":\"" WAV "\"}" },
	{ "test_embedded_resource", answer,
	  "{\"type\":\"resource\",\"resource\":{\"uri\":\"test://embedded-resource\",\"mimeType\":"
	  "\"text/plain\",\"text\":\"This is an embedded resource content.\"}}" },
	{ "test_multiple_content_types", answer,
	  TEXT("Multiple content types test:") "," IMAGE
					       ",{\"type\":\"resource\",\"resource\":{\"uri\":"
					       "\"test://mixed-content-resource\","
					       "\"mimeType\":\"application/"
					       "json\",\"text\":\"{\\\"test\\\":\\\"data\\\","
					       "\\\"value\\\":"
					       "123}\"}}" },
	{ "test_error_handling", answer_error,
	  TEXT("This tool intentionally returns an error for testing") },
	{ "test_tool_with_progress", run_with_progress },
	{ "test_missing_capability", answer, TEXT("The client can sample."), NULL, NULL,
	  "sampling" },
	{ "test_streaming_elicitation", answer, TEXT("Nothing is asked.") },
	{ "test_logging_tool", answer, TEXT("Nothing is logged.") },
	{ "test_custom_header", answer, TEXT("The header matched."),
	  "{\"region\":{\"type\":\"string\",\"x-mcp-header\":\"Region\"}}" },
	{ "json_schema_2020_12_tool", answer, TEXT("ok"), NULL, schema_2020_12 },
};

int mcp_fixtures_add(struct mcp_server *server, sd_event *event, struct err *err)
{
	static struct mcp_tool tools[ARRAY_SIZE(fixtures)];

	for (size_t i = 0; i < ARRAY_SIZE(fixtures); i++) {
		struct fixture *f = &fixtures[i];

		f->event = event;
		tools[i] = (struct mcp_tool){
			.name = f->name,
			.title = f->name,
			.description = "A tool of the conformance suite.",
			.properties = f->properties ? f->properties : "{}",
			.input_schema = f->schema,
			.needs_capability = f->needs,
			.read_only = true,
			.fn = f->fn,
			.userdata = f,
		};
		if (mcp_server_add_tool(server, &tools[i], err) < 0)
			return -1;
	}
	return 0;
}
