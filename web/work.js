// Proof of work: looks for a number that makes SHA-256("request.number") begin with enough zero bits,
// then sends the form. Needed only where the operator turned it on (see src/oauth/work.h).
"use strict";
(() => {
	const form = document.querySelector("form");
	const work = form.elements.work;
	const bits = Number(work.dataset.bits);
	const prefix = form.elements.request.value + ".";
	const state = document.getElementById("work-state");
	const encoder = new TextEncoder();

	const zeroBits = (digest) => {
		const words = new DataView(digest);
		for (let i = 0; i < 8; i++) {
			const word = words.getUint32(4 * i);
			if (word !== 0)
				return 32 * i + Math.clz32(word);
		}
		return 256;
	};
	const tryOne = async (number) => {
		const digest = await crypto.subtle.digest("SHA-256", encoder.encode(prefix + number));
		return zeroBits(digest) >= bits;
	};
	const search = async () => {
		for (let start = 0; ; start += 256) {
			const numbers = Array.from({ length: 256 }, (_, i) => start + i);
			const hits = await Promise.all(numbers.map(tryOne));
			const hit = hits.indexOf(true);
			if (hit >= 0)
				return start + hit;
		}
	};

	form.addEventListener("submit", async (event) => {
		if (work.value)
			return;
		event.preventDefault();
		const button = form.querySelector("button");
		button.disabled = true;
		state.textContent = "One moment: your browser is working…";
		try {
			work.value = String(await search());
			form.submit();
			state.textContent = "";
		} catch {
			state.textContent = "Your browser cannot do this computation: it has to be a current one, "
				+ "and the address of this page has to begin with https.";
		}
		// An app with links of its own leaves the page where it is: the button then works again.
		button.disabled = false;
	});
})();
