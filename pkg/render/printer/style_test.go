package printer

import "testing"

// Hue returns one of ten colors for any number, and repeats them in order.
func TestHue(t *testing.T) {
	t.Parallel()
	style := Style{Color: true}
	const hues = 10
	seen := map[string]bool{}
	for n := range uint32(hues) {
		text := style.Hue(n, "foo")
		seen[text] = true
		if again := style.Hue(n+hues, "foo"); again != text {
			t.Errorf("colors %q and %q, want the same", text, again)
		}
	}
	if len(seen) != hues {
		t.Errorf("%d colors, want %d", len(seen), hues)
	}
}
