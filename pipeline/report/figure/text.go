package figure

import (
	"strings"

	"pipe/internal/safetext"
)

// advances are the widths of the characters from space to tilde in thousandths of the size: the wider one of Helvetica, to whose
// measure Arial and Liberation Sans are made, and of DejaVu Sans, which many machines have instead and which is a seventh wider.
var advances = [...]int{
	318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337,
	636, 636, 636, 636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 556,
	1015, 684, 686, 722, 770, 667, 611, 778, 752, 295, 500, 667, 557, 863, 748, 787,
	667, 787, 722, 667, 611, 732, 684, 989, 685, 667, 685, 390, 337, 390, 838, 556,
	500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612,
	635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
}

// textWidth is how wide a text is drawn, rather too wide than too narrow: the reader's font is not known.
func textWidth(s string, size float64, bold bool) float64 {
	sum := 0
	for _, r := range safetext.Line(s) {
		switch {
		case r >= ' ' && r <= '~':
			sum += advances[r-' ']
		case r < 0x1100:
			sum += 760
		default: // ideographs, emoji
			sum += 1100
		}
	}
	width := float64(sum) / 1000 * size
	if bold {
		width *= 1.11
	}
	return width
}

// shortened cuts the middle out of a text that is wider than a width, and marks the cut. Names often differ at their ends, and pairs
// behind the last slash: that part stays, if it needs at most two thirds of the room.
func shortened(s string, width, size float64, bold bool) string {
	if textWidth(s, size, bold) <= width {
		return s
	}
	letters := []rune(s)
	part := 0
	if i := strings.LastIndex(s, "/"); i >= 0 {
		part = len([]rune(s[i:]))
	}
	for n := len(letters) - 1; n > 0; n-- {
		tail := min(max(n/3, part), (2*n+2)/3)
		head := strings.TrimRight(string(letters[:n-tail]), " ")
		if short := head + "…" + strings.TrimLeft(string(letters[len(letters)-tail:]), " "); textWidth(short, size, bold) <= width {
			return short
		}
	}
	return "…"
}

// wrapped breaks a text into lines. A word that is wider than a line is cut.
func wrapped(s string, width, size float64, bold bool) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		switch joined := line + " " + word; {
		case line == "":
			line = shortened(word, width, size, bold)
		case textWidth(joined, size, bold) <= width:
			line = joined
		default:
			lines = append(lines, line)
			line = shortened(word, width, size, bold)
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
