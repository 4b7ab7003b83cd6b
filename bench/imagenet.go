package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"pipe/costs"
	"pipe/experts/builder"
	"pipe/experts/builder/part"
	"pipe/internal/atomicfile"
	"pipe/internal/storage"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

var imagenetBenchmark = Benchmark{
	Name:  "imagenet",
	About: "images: which network classifies, and how many views or prompts it is shown",
	Run:   runImagenet,
}

// imagenetRun is one run of the benchmark. Every split has a separate folder below out:
//
//	experts/                    files of experts: weights of prompts, measured latency
//	pictures.json               small pictures of some instances
//	splitN/costs.parquet        cost tensor
//	splitN/policies-RECIPE/     policies as ONNX
//	splitN/eval.json, report.*  evaluation
type imagenetRun struct {
	*benchRun
	c     imagenetConfig
	costs part.Config
}

var imagenet = configured{"imagenet", "configs/imagenet.yaml is the paper's, configs/imagenet-small.yaml and configs/cifar10-small.yaml run on small models"}

// runImagenet is the benchmark.
func runImagenet(ctx context.Context, o Options, p stage.Progress) (*report.Report, error) {
	file := imagenetConfigFile{Costs: part.DefaultConfig(), Imagenet: defaultImagenet()}
	return imagenet.start(ctx, o, &file, p, func(b *benchRun) (*report.Report, error) {
		b.title = file.Imagenet.Title
		return (&imagenetRun{b, file.Imagenet, file.Costs}).run(ctx)
	})
}

func (r *imagenetRun) run(ctx context.Context) (*report.Report, error) {
	whole, err := r.draws(r.c.Draws, func(draw int) (*report.Report, error) {
		if _, err := atomicfile.MkdirAll(r.splitFolder(draw)); err != nil {
			return nil, err
		}
		return r.trials(ctx, draw, []string{""}, func(_ int, folder string) *trial { return r.trial(folder, draw) })
	})
	if err != nil {
		return nil, err
	}
	whole.Album, err = r.album(ctx, whole.PictureIDs())
	return whole, err
}

// trial is one draw of the split. Costs are built for the first draw; the other draws reuse them if nothing else depends
// on the split.
func (r *imagenetRun) trial(folder string, draw int) *trial {
	c := r.costs
	c.Split, _ = splitOfDraw(c.Split, draw) // the configuration is valid
	x := &trial{
		benchRun: r.benchRun, folder: folder, costs: c, options: r.sharedOptions(), recipes: r.c.Train.ForRecipes(r.c.Recipes),
		knn: r.c.KNN, resamples: r.c.Resample, complete: r.completion(),
	}
	if draw > 0 {
		x.options.Reuse = filepath.Join(r.splitFolder(0), x.tensorFile())
	}
	return x
}

// completion adds the pictures of every pair, and the decoder of the images.
func (r *imagenetRun) completion() completion {
	return completion{
		inputs: map[string]string{"pictures": stage.Digest(r.c.Pictures), "stand-in": r.c.StandIn},
		add: func(_ context.Context, report *report.Report, j *judged) error {
			report.StandIn = r.c.StandIn
			report.Pictures = routedPictures(j, r.c.Pictures, r.c.Train.Lambdas)
			if name := j.t.Actions.Digests[costs.DecoderDigest]; name != "" {
				report.Settings["decoder"] = name
				report.Notes = append(report.Notes, "Images were decoded by "+name+".")
			}
			note, err := accuracyNote(j.t, r.costs.Labels)
			if err != nil {
				return err
			}
			if note != "" {
				report.Notes = append(report.Notes, note)
			}
			return nil
		},
	}
}

// accuracyNote states the accuracy of every expert without advice, on all splits; "" if none has an accuracy.
func accuracyNote(t *costs.Tensor, labels []string) (string, error) {
	rows := make([]int, t.Len())
	for i := range rows {
		rows[i] = i
	}
	all, err := builder.DiagnoseTensor(t, rows, labels)
	if err != nil {
		return "", err
	}
	var parts []string
	for _, e := range all.Experts {
		if e.Advice == t.Actions.Advice[0].Name && e.Accuracy != nil {
			parts = append(parts, fmt.Sprintf("%s %.3f", e.Expert, *e.Accuracy))
		}
	}
	if len(parts) == 0 {
		return "", nil
	}
	return fmt.Sprintf("Accuracy under %s on all %d images, those of training included: %s.", t.Actions.Advice[0].Name, t.Len(), strings.Join(parts, ", ")), nil
}

// album returns small pictures of instances. It makes them again only if ids or images have changed; nil for no ids.
func (r *imagenetRun) album(ctx context.Context, ids []string) (out *builder.Album, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	x := r.trial(r.splitFolder(0), 0)
	x.options.Out = storage.File(filepath.Join(x.folder, x.tensorFile()))
	tensor, err := costs.FileDigest(ctx, x.options.Out) // it identifies the images
	if err != nil {
		return nil, err
	}
	err = r.recorded(ctx, "pictures", map[string]string{
		"costs": tensor, "ids": stage.Digest(ids), "pictures": stage.Digest(r.c.Pictures), "format": "1",
	}, &out, func() (any, error) { return builder.Pictures(ctx, x.costs, x.options, ids, r.c.Pictures.Side) })
	return out, err
}
