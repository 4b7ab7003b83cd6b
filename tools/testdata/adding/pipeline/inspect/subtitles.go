package inspect

import (
	"bytes"
	"context"
	"io"

	"pipe/internal/safetext"
	"pipe/internal/textfile"
)

// subtitles describes the contents of a file of subtitles.
type subtitles struct {
	Format int    `json:"format"`
	Kind   string `json:"kind"`
	File   string `json:"file"`
	Cues   int    `json:"cues"`
}

func explainSubtitles(_ context.Context, path string, _ Options) (Explanation, error) {
	text, err := textfile.ReadFile(path, textfile.MaxConfig)
	if err != nil {
		return nil, err
	}
	return &subtitles{Format: 1, Kind: "subtitles", File: path, Cues: bytes.Count(text, []byte(" --> "))}, nil
}

// WriteText writes the explanation for a terminal.
func (s *subtitles) WriteText(w io.Writer) error {
	b := safetext.Titled(s.File, s.Kind)
	b.Add("cues", "%d", s.Cues)
	return b.WriteText(w)
}
