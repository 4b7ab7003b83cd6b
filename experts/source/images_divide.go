package source

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"pipe/experts/builder/part"
	"pipe/internal/digest"
)

// all checks the images of all entries, together with the other workers of the build.
func (c *imageCheck) all(ctx context.Context, s *part.Setup, entries []part.Entry) ([]checkedImage, error) {
	if s.Divide == nil {
		return c.run(ctx, s.Folder, entries)
	}
	head, err := verdictHead(c.decoder.Name(), c.limits)
	if err != nil {
		return nil, err
	}
	list := digest.New()
	for _, e := range entries {
		fmt.Fprintln(list, e.ID)
	}
	parts, err := s.Divide(ctx, part.Pass{
		Name: part.ImagesPass, Items: len(entries), Inputs: map[string]string{"images": digest.Sum(list), "check": strings.TrimSpace(head)},
		Make: func(ctx context.Context, from, to int) ([]byte, error) {
			checked, err := c.look(ctx, entries[from:to], nothingKnown, keepNothing)
			if err != nil {
				return nil, err
			}
			return packChecked(checked)
		},
	})
	if err != nil {
		return nil, err
	}
	var out []checkedImage
	for _, b := range parts {
		if out, err = unpackChecked(out, b); err != nil {
			return nil, fmt.Errorf("results of other workers: %w", err)
		}
	}
	if len(out) != len(entries) {
		return nil, fmt.Errorf("results of other workers: they are of %d images, not of %d", len(out), len(entries))
	}
	return out, nil
}

// Other workers keep the results.
func nothingKnown(string) (usability, bool)             { return usability{}, false }
func keepNothing(context.Context, []checkedImage) error { return nil }

// packedChecks are the results of some images: 36 bytes for each that can be used.
type packedChecks struct {
	Sums    []byte // 32 bytes of each; zero if it could not be read
	Pixels  []int32
	Reasons map[int]string // of those that cannot be used
}

func packChecked(list []checkedImage) ([]byte, error) {
	p := packedChecks{Reasons: map[int]string{}}
	for i, c := range list {
		sum, err := hex.DecodeString(strings.TrimPrefix(c.sum, digestPrefix))
		if err != nil {
			return nil, err
		}
		p.Sums = append(p.Sums, append(sum, make([]byte, digestSize-len(sum))...)...)
		p.Pixels = append(p.Pixels, int32(c.pixels))
		if c.reason != "" {
			p.Reasons[i] = c.reason
		}
	}
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(p)
	return b.Bytes(), err
}

// The form of a digest.
const (
	digestPrefix = "sha256:"
	digestSize   = 32
)

// unpackChecked appends what packChecked packed.
func unpackChecked(list []checkedImage, b []byte) ([]checkedImage, error) {
	var p packedChecks
	if err := gob.NewDecoder(bytes.NewReader(b)).Decode(&p); err != nil {
		return nil, err
	}
	if len(p.Sums) != digestSize*len(p.Pixels) {
		return nil, errors.New("they are damaged")
	}
	for i, pixels := range p.Pixels {
		c := checkedImage{usability: usability{pixels: int(pixels), reason: p.Reasons[i]}}
		if sum := p.Sums[i*digestSize:][:digestSize]; !bytes.Equal(sum, make([]byte, digestSize)) {
			c.sum = digestPrefix + hex.EncodeToString(sum)
		}
		if !c.possible() || c.reason == "" && c.sum == "" {
			return nil, errors.New("they are damaged")
		}
		list = append(list, c)
	}
	return list, nil
}
