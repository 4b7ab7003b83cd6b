package inspect

import (
	"bytes"
	"context"
	"io"

	"pipe/internal/safetext"
	"pipe/internal/storage"
	"pipe/internal/textfile"
)

// subtitles describes the contents of a file of subtitles.
type subtitles struct {
	Format int    `json:"format"`
	Kind   string `json:"kind"`
	File   string `json:"file"`
	Cues   int    `json:"cues"`
}

func explainSubtitles(ctx context.Context, path storage.Location, _ Options) (Explanation, error) {
	text, err := textfile.ReadFileAt(ctx, path, textfile.MaxConfig)
	if err != nil {
		return nil, err
	}
	return &subtitles{Format: 1, Kind: "subtitles", File: path.String(), Cues: bytes.Count(text, []byte(" --> "))}, nil
}

// WriteText writes the explanation for a terminal.
func (s *subtitles) WriteText(w io.Writer) error {
	b := safetext.Titled(s.File, s.Kind)
	b.Add("cues", "%d", s.Cues)
	return b.WriteText(w)
}
