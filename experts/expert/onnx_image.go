package expert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/featurize/pixel"
	"pipe/internal/digest"
)

// imageClassifier is an ONNX network over images. It averages the
// probabilities of the views it is shown; levels that share a view share the
// forward pass.
type imageClassifier struct {
	model      *RowModel
	preprocess pixel.Preprocess
	labels     []string
}

type imageClassifierSettings struct {
	modelSettings
	Layout string          `json:"layout"` // nchw or nhwc
	Mean   part.PerChannel `json:"mean"`   // pixels in 0..1
	Std    part.PerChannel `json:"std"`
	Size   int             `json:"size"` // side in pixels, for a graph that does not fix it

	Resize        int                 `json:"resize,omitempty"`        // shorter side of the resized image in pixels, from which views are cropped; 0: images have the model's size
	Interpolation pixel.Interpolation `json:"interpolation,omitempty"` // of the resizing; "": bicubic
}

func newImageClassifier(ctx context.Context, s *part.Setup, settings map[string]any) (part.Expert, error) {
	cfg := imageClassifierSettings{modelSettings: defaultModelSettings(), Layout: "nchw", Mean: part.PerChannel{0, 0, 0}, Std: part.PerChannel{1, 1, 1}}
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	if len(cfg.Mean) != 3 || len(cfg.Std) != 3 {
		return nil, fmt.Errorf("mean has %d values and std %d; both need one per channel, 3", len(cfg.Mean), len(cfg.Std))
	}
	if cfg.Layout != string(pixel.NCHW) && cfg.Layout != string(pixel.NHWC) {
		return nil, fmt.Errorf("layout is %q; known are nchw, nhwc", cfg.Layout)
	}
	if err := s.CheckImages(ctx); err != nil {
		return nil, err
	}
	model, err := openModel(ctx, s, &cfg.modelSettings)
	if err != nil {
		return nil, err
	}
	e := &imageClassifier{model: model, labels: cfg.Labels}
	e.preprocess, err = preprocessOf(model, &cfg)
	if err == nil {
		err = errors.Join(e.preprocess.Validate(), checkViews(s, e.preprocess))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("model %q: %w", s.Path(cfg.Model), err), model.Close())
	}
	if cfg.Resize > 0 { // without resizing, the digest of the graph is enough
		s.Input("model preprocessing", digest.Of(fmt.Appendf(nil, "%+v", e.preprocess)))
	}
	return e, nil
}

// checkViews rejects a view of the advice whose crop does not fit the expert's model.
func checkViews(s *part.Setup, p pixel.Preprocess) error {
	for _, level := range s.Levels {
		shown, ok := level.Advice.(part.ViewLister)
		if !ok || slices.Contains(s.Unavailable, level.Name) {
			continue
		}
		for _, v := range shown.Views() {
			if err := p.CheckView(v); err != nil {
				return fmt.Errorf("advice %q: %w", level.Name, err)
			}
		}
	}
	return nil
}

// preprocessOf reads the size of the image from the graph's input, or takes the
// configured one if the graph does not fix it.
func preprocessOf(m *RowModel, cfg *imageClassifierSettings) (pixel.Preprocess, error) {
	in := pixel.Preprocess{
		Resize: cfg.Resize, Interpolation: cmp.Or(cfg.Interpolation, pixel.Bicubic),
		Layout: pixel.Layout(cfg.Layout), Mean: [3]float32(cfg.Mean), Std: [3]float32(cfg.Std),
	}
	if len(m.shape) != 3 {
		return in, fmt.Errorf("input %q has %d axes besides the batch; an image needs 3", m.input, len(m.shape))
	}
	axis := channelAxis[in.Layout]
	for layout, other := range channelAxis {
		if c := m.shape[axis]; c >= 0 && c != 3 && m.shape[other] == 3 {
			return in, fmt.Errorf("input %q takes rows of shape %v, which is not %s; set layout: %s", m.input, m.shape, in.Layout, layout)
		}
	}
	sides := slices.Delete(slices.Clone(m.shape), axis, axis+1)
	for i, side := range sides {
		switch {
		case side < 0:
			sides[i] = int64(cfg.Size)
		case cfg.Size != 0 && int64(cfg.Size) != side:
			return in, fmt.Errorf("size is %d, but input %q takes only rows of shape %v", cfg.Size, m.input, m.shape)
		}
	}
	in.Height, in.Width = int(sides[0]), int(sides[1])
	if in.Height == 0 || in.Width == 0 {
		return in, errors.New("the graph does not fix the image size; set size")
	}
	return in, m.setShape(slices.Insert(sides, axis, 3)...)
}

// channelAxis is the axis of the channels in a row, by layout.
var channelAxis = map[pixel.Layout]int{pixel.NCHW: 0, pixel.NHWC: 2}

// Labels returns the labels in the order of the probabilities.
func (e *imageClassifier) Labels() []string { return e.labels }

// Predict runs every distinct view of every instance once.
func (e *imageClassifier) Predict(ctx context.Context, batch []part.Instance, shown [][]part.AdvicePayload) ([][]part.Prediction, error) {
	batch, err := part.Sized(batch, shown)
	if err != nil {
		return nil, err
	}
	jobs, index := viewJobs(batch, shown)
	p, err := e.model.stream(ctx, len(jobs), func(dst []float32, i int) error {
		in := &batch[jobs[i].instance]
		prepared, err := in.Sizes.Prepared(e.preprocess)
		if err == nil {
			err = prepared.Fill(dst, jobs[i].view)
		}
		if err != nil {
			return &costs.DataError{Msg: fmt.Sprintf("instance %q", in.ID), Err: err}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := make([][]part.Prediction, len(shown))
	for k, level := range shown {
		if level == nil {
			continue
		}
		out[k] = make([]part.Prediction, len(batch))
		for n := range batch {
			out[k][n] = e.average(p, index, n, viewsOf(level[n]))
		}
	}
	return out, nil
}

// viewJob is one view of one instance of a batch.
type viewJob struct {
	instance int
	view     pixel.View
}

// viewJobs lists the distinct views of the levels, instance by instance, with the index of each in the list.
func viewJobs(batch []part.Instance, shown [][]part.AdvicePayload) ([]viewJob, map[viewJob]int) {
	var jobs []viewJob
	index := make(map[viewJob]int)
	for n := range batch {
		for _, level := range shown {
			if level == nil {
				continue
			}
			for _, v := range viewsOf(level[n]) {
				job := viewJob{n, v}
				if _, ok := index[job]; !ok {
					index[job] = len(jobs)
					jobs = append(jobs, job)
				}
			}
		}
	}
	return jobs, index
}

// viewsOf returns the views of a showing: the plain one if there are none.
func viewsOf(s part.AdvicePayload) []pixel.View {
	if len(s.Views) == 0 {
		return []pixel.View{pixel.Centre()}
	}
	return s.Views
}

// average returns the mean distribution over the views of an instance.
func (e *imageClassifier) average(p []float32, index map[viewJob]int, n int, views []pixel.View) part.Prediction {
	classes := e.model.classes
	sum := make([]float64, classes)
	for _, v := range views {
		at := index[viewJob{n, v}] * classes
		for c, q := range p[at : at+classes] {
			sum[c] += float64(q)
		}
	}
	mean := make([]float32, classes)
	for c, v := range sum {
		mean[c] = float32(v / float64(len(views)))
	}
	return part.Prediction{Label: e.labels[Argmax(mean)], Probabilities: mean}
}

// Close frees the network.
func (e *imageClassifier) Close() error { return e.model.Close() }
