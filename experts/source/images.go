package source

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/experts/classlist"
	"pipe/featurize/pixel"
	"pipe/internal/digest"
	"pipe/internal/parallel"
	"pipe/internal/storage"
)

// images is a folder of images. The id of an instance is its path below the
// folder, with forward slashes. Every instance was decoded once when the source
// was made.
type images struct {
	folder  storage.Location
	decoder pixel.Decoder
	limits  pixel.Limits
	workers int      // images decoded concurrently
	classes []string // nil: no class list was given
	names   []string // readable names of the classes
	entries []part.Entry
	sums    []string // digests of the files, aligned with entries
	pixels  []int    // of the images, aligned with entries
	skipped []part.BadImage
}

func newImages(ctx context.Context, s *part.Setup, settings map[string]any) (part.Source, error) {
	cfg := imagesSettings{Label: "label", Limits: pixel.DefaultLimits()}
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	decoder, err := pixel.OpenDecoder(cfg.Decoder)
	if err != nil {
		return nil, fmt.Errorf("decoder: %w", err)
	}
	src := &images{folder: s.Path(cfg.Folder), decoder: decoder, limits: cfg.Limits, workers: s.Workers}
	if cfg.Classes != "" {
		list, err := classlist.Open(ctx, s, "classes", cfg.Classes)
		if err != nil {
			return nil, fmt.Errorf("classes: %w", err)
		}
		src.classes, src.names = list.IDs, list.Names
	}
	found, err := findImages(ctx, s, &cfg)
	if err != nil {
		return nil, err
	}
	if src.classes != nil {
		found.keepLabels(src.classes)
	}
	found.firstPerLabel(cfg.PerLabel)
	if err := src.check(ctx, s, found); err != nil {
		return nil, err
	}
	return src, nil
}

// check keeps the usable images; the others are an error, or left out.
func (s *images) check(ctx context.Context, setup *part.Setup, found *foundImages) error {
	c := &imageCheck{
		folder: s.folder, decoder: s.decoder, limits: s.limits, workers: s.workers,
		progress: setup.Progress, gate: pixel.NewGate(pixel.MostAtOnce),
	}
	checked, err := c.all(ctx, setup, found.entries)
	if err != nil {
		return fmt.Errorf("check images: %w", err)
	}
	bad := found.bad
	for i, e := range found.entries {
		if reason := checked[i].reason; reason != "" {
			bad = append(bad, part.BadImage{ID: e.ID, Reason: reason})
			continue
		}
		s.entries, s.sums, s.pixels = append(s.entries, e), append(s.sums, checked[i].sum), append(s.pixels, checked[i].pixels)
	}
	slices.SortStableFunc(bad, func(a, b part.BadImage) int { return strings.Compare(a.ID, b.ID) })
	if len(bad) > 0 && (!setup.SkipBad || len(s.entries) == 0) {
		return &part.BadImagesError{Folder: s.folder.String(), Images: bad, Usable: len(s.entries)}
	}
	s.skipped = bad
	s.describe(setup.Inputs)
	return nil
}

// describe makes the decoder, the images and the list of omitted images inputs of the build.
func (s *images) describe(in part.Inputs) {
	in[costs.DecoderDigest] = s.decoder.Name()
	all := digest.New()
	for i, e := range s.entries {
		in[part.ImagePrefix+e.ID] = s.sums[i]
		fmt.Fprintf(all, "%s  %s\n", s.sums[i], e.ID)
	}
	in["images"] = digest.Sum(all)
	if len(s.skipped) > 0 {
		in["skipped"] = digest.Of([]byte(part.BadList(s.skipped)))
	}
}

// batchPixels limits the pixels of a batch of several images.
const batchPixels = 64 << 20

// Fit returns how many of the rows, at least one, fit into a batch of at most batchPixels.
func (s *images) Fit(rows []int) int {
	pixels := 0
	for n, row := range rows {
		if pixels += s.pixels[row]; n > 0 && pixels > batchPixels {
			return n
		}
	}
	return len(rows)
}

// Entries returns the images: sorted by id, or in the order of the list.
func (s *images) Entries() []part.Entry { return s.entries }

// Columns returns nil.
func (s *images) Columns() *part.Columns { return nil }

// Classes returns the ids of the class list, nil if there is none.
func (s *images) Classes() []string { return s.classes }

// LabelNames returns the readable names of the classes, by id.
func (s *images) LabelNames() map[string]string {
	out := make(map[string]string, len(s.classes))
	for i, id := range s.classes {
		out[id] = s.names[i]
	}
	return out
}

// Skipped returns the images that were left out, by id.
func (s *images) Skipped() []part.BadImage { return s.skipped }

// Load decodes images, several at a time. A file that has changed since it was
// checked is an error.
func (s *images) Load(ctx context.Context, rows []int) ([]part.Instance, error) {
	out := make([]part.Instance, len(rows))
	err := parallel.Each(ctx, s.workers, len(rows), func(ctx context.Context, n int) (err error) {
		out[n], err = s.load(ctx, rows[n])
		return err
	})
	return out, err
}

func (s *images) load(ctx context.Context, i int) (part.Instance, error) {
	file := s.folder.Join(filepath.FromSlash(s.entries[i].ID))
	b, err := s.limits.ReadFile(ctx, file)
	if err != nil {
		return part.Instance{}, &costs.DataError{File: file.String(), Msg: "existed when images were checked", Err: err}
	}
	if digest.Of(b) != s.sums[i] {
		return part.Instance{}, &costs.DataError{File: file.String(), Msg: "has changed since images were checked"}
	}
	img, err := s.decoder.Decode(b)
	if err != nil {
		return part.Instance{}, &costs.DataError{File: file.String(), Err: err}
	}
	return part.Instance{Entry: s.entries[i], Image: img, Row: i}, nil
}

// listObjects is listImages for a folder in an object store, which has no links.
func listObjects(ctx context.Context, folder storage.Location) (ids []string, err error) {
	in, err := folder.Folder(ctx)
	if err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}
	for o, err := range in.List(ctx, "") {
		if err != nil {
			return nil, fmt.Errorf("list images: %w", err)
		}
		hidden := strings.HasPrefix(o.Name, ".") || strings.Contains(o.Name, "/.")
		if !hidden && isImageName(o.Name) {
			ids = append(ids, o.Name)
		}
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("list images: %q has none (%s)", in, strings.Join(pixel.Extensions, " "))
	}
	slices.Sort(ids)
	return ids, nil
}
