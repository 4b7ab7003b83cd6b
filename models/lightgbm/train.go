package lightgbm

import (
	"context"
	"errors"
	"fmt"
)

// Train fits a binary classifier by gradient boosting: trees grown leaf by leaf on histograms, which minimise the
// log-loss. The same input and parameters, including threads, give the same model.
//
//	x:        rows x cols, row-major; NaN is missing
//	label:    rows, 0 or 1, both present
//	weight:   rows, finite, more than 0; nil is 1 each
//	progress: called after every round with the rounds done; nil for none
//
// Training ends early when no split reduces the loss. ctx is checked between rounds. The caller closes the booster.
func (l *Library) Train(ctx context.Context, x []float32, rows, cols int, label, weight []float32, p Params, progress func(round int)) (*Booster, error) {
	if err := errors.Join(p.Validate(), checkMatrix(x, rows, cols), checkLabels(label, rows), checkWeights(weight, rows)); err != nil {
		return nil, fmt.Errorf("lightgbm: train: %w", err)
	}
	texts, err := l.train(ctx, matrix{x, rows, cols}, [][]float32{label}, weight, training{p, Binary}, progress)
	l.giveBack()
	if err != nil {
		return nil, err
	}
	return l.Load(texts[0], p.Threads)
}

// train returns the text of a model for each list of labels. The rows are binned once for all of them. It returns texts
// because a trained booster holds on to the training data; a booster loaded from the text does not.
func (l *Library) train(ctx context.Context, m matrix, labels [][]float32, weight []float32, p training, progress func(int)) (texts []string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	data, err := l.dataset(m, weight, p)
	defer func() { err = errors.Join(err, l.free("free the data", data, l.native.datasetFree)) }()
	if err != nil {
		return nil, err
	}
	for _, label := range labels {
		if err := l.setField(data, "label", label); err != nil {
			return nil, err
		}
		text, err := l.grow(ctx, data, p, progress)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// grow trains a model on the data and returns its text.
func (l *Library) grow(ctx context.Context, data uintptr, p training, progress func(int)) (text string, err error) {
	var model uintptr
	err = l.call("train", func(n *native) int32 { return n.boosterCreate(data, p.text(), &model) })
	defer func() { err = errors.Join(err, l.free("free the booster", model, l.native.boosterFree)) }()
	if err != nil {
		return "", err
	}
	if err := l.boost(ctx, model, p.Rounds, progress); err != nil {
		return "", err
	}
	return l.save(model)
}

// giveBack returns memory freed by a training to the system; the C library would otherwise keep hundreds of megabytes.
func (l *Library) giveBack() {
	l.worker.do(func() {
		if l.native.trim != nil {
			l.native.trim(0) // 1 if there was something to return, 0 if not
		}
	})
}

func (l *Library) free(what string, handle uintptr, f func(uintptr) int32) error {
	if handle == 0 {
		return nil
	}
	return l.call(what, func(*native) int32 { return f(handle) })
}

// dataset copies the matrix into the library's histogram bins. The caller frees the handle, even after an error.
func (l *Library) dataset(m matrix, weight []float32, p training) (handle uintptr, err error) {
	err = l.call("bin the data", func(n *native) int32 {
		return n.datasetCreate(first(m.x), typeFloat32, int32(m.rows), int32(m.cols), rowMajor, p.text(), 0, &handle)
	})
	if err == nil && weight != nil {
		err = l.setField(handle, "weight", weight)
	}
	return handle, err
}

// setField gives the data a value per row. No booster of the data may be alive.
func (l *Library) setField(data uintptr, name string, values []float32) error {
	return l.call("set the "+name, func(n *native) int32 {
		return n.datasetSetField(data, name, first(values), int32(len(values)), typeFloat32)
	})
}

// boost adds trees until there are enough or none reduces the loss.
func (l *Library) boost(ctx context.Context, model uintptr, rounds int, progress func(int)) error {
	for round := range rounds {
		if err := ctx.Err(); err != nil {
			return err
		}
		var finished int32
		err := l.call(fmt.Sprintf("train: round %d", round), func(n *native) int32 { return n.boosterUpdate(model, &finished) })
		if err != nil {
			return err
		}
		if progress != nil {
			progress(round + 1)
		}
		if finished != 0 {
			return nil
		}
	}
	return nil
}

// save asks for the length of the text first. The text ends with a zero byte.
func (l *Library) save(model uintptr) (string, error) {
	var length int64
	err := l.call("save", func(n *native) int32 { return n.boosterSave(model, 0, -1, 0, 0, &length, nil) })
	if err != nil {
		return "", err
	}
	text := make([]byte, length)
	err = l.call("save", func(n *native) int32 { return n.boosterSave(model, 0, -1, 0, length, &length, first(text)) })
	if err != nil || len(text) == 0 {
		return "", errors.Join(err, errors.New("lightgbm: save: no text"))
	}
	return string(text[:len(text)-1]), nil
}
