/* SPDX-License-Identifier: Apache-2.0 */
/* Smaller copies of pictures, made inside the sandbox. */
#include "tools/image_scale.h"

#include <stdio.h>

static const usec scale_timeout = 15 * USEC_PER_SEC;

/*
 * Arguments: the file, the most bytes, the longest side. Drawings stay PNG where that is small
 * enough, photographs become JPEG; what has transparency stays PNG. Smaller until it fits.
 */
static const char script[] = "import io,sys\n"
			     "from PIL import Image,ImageOps\n"
			     "path,most,side=sys.argv[1],int(sys.argv[2]),int(sys.argv[3])\n"
			     "im=Image.open(path,formats=('PNG','JPEG','GIF','WEBP'))\n"
			     "drawn=im.format in ('PNG','GIF')\n"
			     "clear=im.mode in ('RGBA','LA','PA') or 'transparency' in im.info\n"
			     "im.draft('RGB',(side,side))\n"
			     "im=ImageOps.exif_transpose(im).convert('RGBA' if clear else 'RGB')\n"
			     "kinds=['PNG'] if clear else ['PNG','JPEG'] if drawn else ['JPEG']\n"
			     "top=min(side,max(im.size))\n"
			     "for s in (top,top*2//3,top//2,top//4):\n"
			     " im.thumbnail((s,s))\n"
			     " for kind in kinds:\n"
			     "  out=io.BytesIO()\n"
			     "  im.save(out,kind,quality=85)\n"
			     "  if out.tell()<=most:\n"
			     "   sys.stdout.buffer.write(out.getvalue())\n"
			     "   sys.exit(0)\n"
			     "sys.exit(1)\n";

bool image_fits(const struct sniff *kind, uint64_t size, uint64_t max_bytes)
{
	return kind->is_picture && size <= max_bytes && kind->width <= IMAGE_MAX_SIDE &&
	       kind->height <= IMAGE_MAX_SIDE;
}

bool image_wants_scaling(const struct sniff *kind, uint64_t size, uint64_t max_bytes)
{
	uint64_t pixels = (uint64_t)kind->width * kind->height;

	if (!kind->is_picture || !max_bytes || !pixels || pixels > IMAGE_SCALE_MAX_PIXELS)
		return false;
	return size > max_bytes || kind->width > IMAGE_GOOD_SIDE || kind->height > IMAGE_GOOD_SIDE;
}

int image_scale(struct tool_call *call, struct view path, uint64_t max_bytes, tool_output_fn *fn)
{
	char most[24], side[24];
	auto_buf struct buf file = BUF_INIT(KEEPER_MAX_PATH + sizeof("/workspace/"));
	const char *argv[] = { "python3", "-I", "-c", script, NULL, most, side, NULL };
	const struct tool_run run = { .argv = argv,
				      .max_output = (size_t)max_bytes + 1,
				      .timeout = scale_timeout };
	int r = buf_add_str(&file, "/workspace/");

	if (r == 0)
		r = buf_add_view(&file, path);
	if (r < 0)
		return r == -ENOSPC ? -ENAMETOOLONG : r;
	(void)snprintf(most, sizeof(most), "%llu", (unsigned long long)max_bytes);
	(void)snprintf(side, sizeof(side), "%d", (int)IMAGE_GOOD_SIDE);
	argv[4] = buf_str(&file);
	tool_call_run(call, &run, fn);
	return 0;
}

bool image_scaled(const struct tool_output *output, uint64_t max_bytes, struct sniff *ret)
{
	struct view bytes = buf_view(&output->output);
	size_t tail = bytes.len < SNIFF_TAIL_BYTES ? bytes.len : SNIFF_TAIL_BYTES;
	struct sniff kind;

	if (!output->exit || output->exit->kind != ENGINE_EXITED || output->exit->value != 0 ||
	    output->cut)
		return false;
	kind = sniff_bytes(view_first(bytes, SNIFF_HEAD_BYTES), view_from(bytes, bytes.len - tail),
			   bytes.len);
	if (!image_fits(&kind, bytes.len, max_bytes) || !kind.width || !kind.height ||
	    kind.width > IMAGE_GOOD_SIDE || kind.height > IMAGE_GOOD_SIDE)
		return false;
	*ret = kind;
	return true;
}
