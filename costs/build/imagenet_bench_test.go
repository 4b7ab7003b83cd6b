package build

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"pipe/costs/builder/part"
	"pipe/featurize/pixel"
	"pipe/internal/parallel"
	"pipe/internal/progress"
	"pipe/onnx/ort"
)

// imagePlan makes the parts of a configuration whose images are decoded by a decoder that may be missing.
func imagePlan(b *testing.B, cfg part.Config, decoder string) *plan {
	b.Helper()
	if _, err := pixel.OpenDecoder(decoder); err != nil {
		b.Skip(err)
	}
	cfg.Instances.Settings["decoder"] = decoder
	p, err := newPlan(context.Background(), &cfg, &Options{Kinds: Builtin(), Experts: b.TempDir(), Progress: progress.Silent{}, Runtime: openRuntime(b)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { p.Close() })
	return p
}

// buildShards makes some shards as a build does: side by side.
func buildShards(b *testing.B, p *plan, shards int) {
	err := parallel.Each(context.Background(), p.Workers, shards, func(ctx context.Context, i int) error {
		_, err := p.build(ctx, i, nil)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkImageRoad is the rate from files to answers of one network, MobileNet v2 at 224, on all cores, and the
// milliseconds that an image takes on one core in each step. tools/peer/run.sh images runs it beside Python.
func BenchmarkImageRoad(b *testing.B) {
	for _, decoder := range []string{"standard", "libjpeg-turbo"} {
		b.Run("decoder="+decoder, func(b *testing.B) {
			cfg := imagenetConfig(b, 0.875, 1)
			cfg.Experts = cfg.Experts[3:]
			p := imagePlan(b, cfg, decoder)
			buildShards(b, p, 2) // warms up
			for b.Loop() {
				buildShards(b, p, p.shards())
			}
			images := len(p.Source.Entries())
			b.ReportMetric(float64(b.N*images)/b.Elapsed().Seconds(), "images/s")
			reportSteps(b, p)
		})
	}
}

// reportSteps runs the steps one after the other on one core.
func reportSteps(b *testing.B, p *plan) {
	b.StopTimer()
	entries, e := p.Source.Entries(), p.Experts[0].Expert.(*imageClassifier)
	decoder, err := pixel.OpenDecoder(p.cfg.Instances.Settings["decoder"].(string))
	if err != nil {
		b.Fatal(err)
	}
	scores := make([]float32, e.model.batch*e.model.classes)
	var decode, resize, fill, forward time.Duration
	width, in := e.model.width, (*ort.Buffer)(nil)
	for i, entry := range entries {
		file, err := os.ReadFile(filepath.Join(p.cfg.Instances.Settings["folder"].(string), entry.ID))
		if err != nil {
			b.Fatal(err)
		}
		begin := time.Now()
		img, err := decoder.Decode(file)
		decoded := time.Now()
		if err != nil {
			b.Fatal(err)
		}
		prepared, err := e.preprocess.Prepare(img, []pixel.View{pixel.Centre()})
		resized := time.Now()
		if err != nil {
			b.Fatal(err)
		}
		at := i % e.model.batch
		if at == 0 {
			in, err = e.model.take(min(e.model.batch, len(entries)-i))
			if err != nil {
				b.Fatal(err)
			}
		}
		taken := time.Now()
		if err := prepared.Fill(in.Float32s()[at*width:(at+1)*width], pixel.Centre()); err != nil {
			b.Fatal(err)
		}
		filled := time.Now()
		if last := i == len(entries)-1; last || at == e.model.batch-1 {
			if err := e.model.run(context.Background(), scores, in); err != nil {
				b.Fatal(err)
			}
		}
		decode, resize, fill, forward = decode+decoded.Sub(begin), resize+resized.Sub(decoded), fill+filled.Sub(taken), forward+time.Since(filled)
	}
	for _, step := range []struct {
		name string
		time time.Duration
	}{{"decode", decode}, {"resize", resize}, {"fill", fill}, {"forward", forward}} {
		b.ReportMetric(1000*step.time.Seconds()/float64(len(entries)), step.name+"-ms")
	}
}

// BenchmarkImageTensor is what a tensor of four networks under 1, 2, 6 and 10 views takes, in units of its forward
// passes alone: the same calls on the same workers, without decoding, resizing and filling.
func BenchmarkImageTensor(b *testing.B) {
	for _, decoder := range []string{"standard", "libjpeg-turbo"} {
		b.Run("decoder="+decoder, func(b *testing.B) {
			cfg := imagenetConfig(b, 1, 1, 2, 6, 10)
			cfg.Shard = 32
			p := imagePlan(b, cfg, decoder)
			const shards = 2
			forwards(b, p, 1) // warms up
			var whole, alone spent
			for b.Loop() {
				whole.add(func() { buildShards(b, p, shards) })
				alone.add(func() { forwards(b, p, shards) })
			}
			b.ReportMetric(whole.wall.Seconds()/alone.wall.Seconds(), "of-forwards")
			b.ReportMetric(whole.cpu.Seconds()/alone.cpu.Seconds(), "of-forwards-cpu")
			b.ReportMetric(1000*whole.wall.Seconds()/float64(b.N*shards*cfg.Shard), "ms/image")
		})
	}
}

// spent is time on the clock and on the cores. The second hardly depends on what else the machine does.
type spent struct{ wall, cpu time.Duration }

func (s *spent) add(do func()) {
	begin, cores := time.Now(), cpuTime()
	do()
	s.wall, s.cpu = s.wall+time.Since(begin), s.cpu+cpuTime()-cores
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // the arguments are constant
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// forwards makes the calls of some shards' networks on an image of zeros.
func forwards(b *testing.B, p *plan, shards int) {
	err := parallel.Each(context.Background(), p.Workers, shards, func(ctx context.Context, shard int) error {
		for _, e := range p.Experts {
			rows := len(p.rows(shard)) * len(tenViews)
			if _, err := e.Expert.(*imageClassifier).model.stream(ctx, rows, func([]float32, int) error { return nil }); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}
