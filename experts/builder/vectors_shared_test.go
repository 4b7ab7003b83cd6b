package builder

import (
	"context"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/featurize"
	"pipe/featurize/pixel"
	"pipe/internal/progress"
	"pipe/internal/storage"
)

// absentVectors is a feature that counts the images whose vector was not kept.
type absentVectors struct {
	part.Feature
	vectors *part.ImageVectors
	count   *atomic.Int64
}

func (f *absentVectors) Encode(ctx context.Context, dst []float32, b *part.Batch) error {
	for n := range b.Instances {
		if f.vectors.Of(b.Instances[n].Sizes) == nil {
			f.count.Add(1)
		}
	}
	return f.Feature.Encode(ctx, dst, b)
}

// seen makes a world's plan ready and its tensor, shard by shard, and counts the images that the encoder of its first
// feature has to be run for.
func (w *world) seen(t *testing.T, experts string) (tensors []*costs.Tensor, images int) {
	t.Helper()
	o := Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir), Runtime: openRuntime(t), Experts: storage.File(experts).String(), Progress: progress.Silent{}}
	p, err := newPlan(t.Context(), &w.cfg, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	for _, e := range p.Experts {
		if prepares, ok := e.Expert.(part.Preparer); ok {
			if err := prepares.Prepare(t.Context(), p.preparation(experts, "", nil, &o)); err != nil {
				t.Fatal(err)
			}
		}
	}
	var count atomic.Int64
	vectors, err := part.VectorsOf(p.Build, p.Inputs[part.InputName("model", p.featurePart(0))])
	if err != nil {
		t.Fatal(err)
	}
	p.features[0] = &absentVectors{p.features[0], vectors, &count}
	rows := len(p.Source.Entries())
	for shard := range (rows + w.cfg.Shard - 1) / w.cfg.Shard {
		tensor, err := p.build(t.Context(), shard, newAudit(p.cfg.Audit))
		if err != nil {
			t.Fatal(err)
		}
		tensors = append(tensors, tensor)
	}
	return tensors, int(count.Load())
}

// An expert and a feature on the same vision tower run it once per image, but for an image that is alone in its batch, and
// give the same bits as one without the other. Other preprocessing is another model.
func TestOneForwardPassPerImage(t *testing.T) {
	const images = 29 // shards of 8, batches of 4: the last image is alone
	w := newClipWorld(t, images)
	folder := t.TempDir()
	_, answers := w.build(t) // without the feature
	model := map[string]any{"encoder": "clip"}
	w.cfg.Features = append([]part.Part{{Kind: "image", Settings: model}}, w.cfg.Features...)
	tensors, encoded := w.seen(t, folder)
	if encoded != 1 {
		t.Errorf("the encoder is run for %d images beside the expert, want the 1 that is alone", encoded)
	}
	vectors := w.vectors(t)
	at := 0
	for _, tensor := range tensors {
		for n := range tensor.Len() {
			row, pairs := tensor.Row(n), tensor.Actions.Len()
			if !slices.Equal(row[:12], vectors[12*at:12*at+12]) {
				t.Errorf("instance %d: the vector is another one than that of the encoder", at)
			}
			if !slices.Equal(row[12:], answers.Row(at)) || !slices.Equal(tensor.Losses(n), answers.Losses(at)) ||
				!slices.Equal(tensor.Predictions[n*pairs:(n+1)*pairs], answers.Predictions[at*pairs:(at+1)*pairs]) {
				t.Errorf("instance %d: the expert answers otherwise beside the feature", at)
			}
			at++
		}
	}
	model["size"], model["resize"] = 32, 36
	if _, encoded := w.seen(t, folder); encoded != images {
		t.Errorf("another model is run for %d images, want all %d", encoded, images)
	}
}

// vectors are those that the encoder of a world makes of all instances, in one call.
func (w *world) vectors(t *testing.T) []float32 {
	t.Helper()
	rt, err := openRuntime(t)()
	if err != nil {
		t.Fatal(err)
	}
	e, err := featurize.OpenImageEncoder(rt, filepath.Join(w.dir, "clip"), featurize.DefaultImageModelOptions(), 2)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	source := w.plan(t).Source
	rows := make([]int, len(source.Entries()))
	for i := range rows {
		rows[i] = i
	}
	batch, err := source.Load(t.Context(), rows)
	if err != nil {
		t.Fatal(err)
	}
	list := make([]*pixel.Image, len(batch))
	for n := range batch {
		list[n] = batch[n].Image
	}
	out := make([]float32, len(batch)*e.Dim())
	if err := e.Encode(t.Context(), out, list); err != nil {
		t.Fatal(err)
	}
	return out
}
