package progress

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// newBar draws a bar with rate and time left.
func newBar(w io.Writer, total int64, what string, colour bool) *progressbar.ProgressBar {
	return progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(what),
		progressbar.OptionSetWidth(28),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionEnableColorCodes(colour),
		progressbar.OptionUseANSICodes(true),
		progressbar.OptionSetTheme(barTheme(colour)),
		progressbar.OptionSetRenderBlankState(true),
		progressbar.OptionClearOnFinish(),
	)
}

func barTheme(colour bool) progressbar.Theme {
	t := progressbar.Theme{Saucer: "#", SaucerHead: "#", SaucerPadding: ".", BarStart: "[", BarEnd: "]"}
	if colour {
		t.Saucer, t.SaucerHead = "[green]#[reset]", "[green]#[reset]"
	}
	return t
}
