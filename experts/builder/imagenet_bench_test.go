package builder

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
	"pipe/experts/kinds"
	"pipe/featurize/pixel"
	"pipe/internal/parallel"
	"pipe/internal/progress"
	"pipe/internal/storage"
	"pipe/onnx"
	"pipe/onnx/ort"
)

// imagePlan makes the parts of a configuration whose images are decoded by a decoder that may be missing.
func imagePlan(b *testing.B, cfg part.Config, decoder string) *plan {
	b.Helper()
	if _, err := pixel.OpenDecoder(decoder); err != nil {
		b.Skip(err)
	}
	cfg.Instances.Settings["decoder"] = decoder
	p, err := newPlan(context.Background(), &cfg, &Options{Kinds: kinds.Builtin(), Experts: storage.File(b.TempDir()).String(), Progress: progress.Silent{}, Runtime: openRuntime(b)})
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

// bareNetwork is one network of imagenetConfig without the expert around it.
type bareNetwork struct {
	runtime    *ort.Runtime
	session    *ort.Session
	preprocess pixel.Preprocess
	inputs     sync.Pool // of *ort.Buffer, of earlier calls
}

// networkBatch is the number of images of a call, as the kind onnx_image has it.
const networkBatch = 32

// openNetwork opens the network of an expert as the expert does: with one thread.
func openNetwork(b *testing.B, p *plan, expert int) *bareNetwork {
	b.Helper()
	rt, err := p.Runtime()
	if err != nil {
		b.Fatal(err)
	}
	settings, o := p.cfg.Experts[expert].Settings, rt.SessionOptions()
	o.Threads = 1
	session, err := rt.SessionFile(settings["model"].(string), o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { session.Close() })
	side := int(session.Inputs()[0].Shape[2].Size)
	half := [3]float32{0.5, 0.5, 0.5}
	return &bareNetwork{runtime: rt, session: session, preprocess: pixel.Preprocess{
		Width: side, Height: side, Resize: settings["resize"].(int), Interpolation: pixel.Bicubic, Layout: pixel.NCHW, Mean: half, Std: half,
	}}
}

// input is room for the rows of one call, all zeros.
func (n *bareNetwork) input(b *testing.B, rows int) *ort.Buffer {
	b.Helper()
	in, err := n.runtime.NewBuffer(onnx.Float32, int64(rows), 3, int64(n.preprocess.Height), int64(n.preprocess.Width))
	if err != nil {
		b.Fatal(err)
	}
	return in
}

// run is one call.
func (n *bareNetwork) run(ctx context.Context, in *ort.Buffer) error {
	out := make([]*ort.Buffer, 1)
	if err := n.session.RunBuffers(ctx, []*ort.Buffer{in}, out); err != nil {
		return err
	}
	return out[0].Close()
}

// reportSteps runs the steps of the first expert one after the other on one core.
func reportSteps(b *testing.B, p *plan) {
	b.StopTimer()
	entries, net := p.Source.Entries(), openNetwork(b, p, 0)
	decoder, err := pixel.OpenDecoder(p.cfg.Instances.Settings["decoder"].(string))
	if err != nil {
		b.Fatal(err)
	}
	var decode, resize, fill, forward time.Duration
	width, in := net.preprocess.Len(), net.input(b, networkBatch)
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
		prepared, err := net.preprocess.Prepare(img, []pixel.View{pixel.Centre()})
		resized := time.Now()
		if err != nil {
			b.Fatal(err)
		}
		at, left := i%networkBatch, len(entries)-i
		if at == 0 && left < networkBatch {
			in = net.input(b, left)
		}
		taken := time.Now()
		if err := prepared.Fill(in.Float32s()[at*width:(at+1)*width], pixel.Centre()); err != nil {
			b.Fatal(err)
		}
		filled := time.Now()
		if left == 1 || at == networkBatch-1 {
			if err := net.run(context.Background(), in); err != nil {
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
			var networks []*bareNetwork
			for j := range p.Experts {
				networks = append(networks, openNetwork(b, p, j))
			}
			forwards(b, p, networks, 1) // warms up
			var whole, alone spent
			for b.Loop() {
				whole.add(func() { buildShards(b, p, shards) })
				alone.add(func() { forwards(b, p, networks, shards) })
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

// forwards makes the calls of some shards' networks, under all ten views, on images of zeros.
func forwards(b *testing.B, p *plan, networks []*bareNetwork, shards int) {
	type call struct {
		network *bareNetwork
		rows    int
	}
	var calls []call
	for shard := range shards {
		for _, n := range networks {
			for left := len(p.rows(shard)) * len(parttest.TenViews()); left > 0; left -= networkBatch {
				calls = append(calls, call{n, min(left, networkBatch)})
			}
		}
	}
	err := parallel.Each(context.Background(), p.Workers, len(calls), func(ctx context.Context, i int) error {
		n := calls[i].network
		in, ok := n.inputs.Get().(*ort.Buffer)
		if !ok || in.Shape()[0] != int64(calls[i].rows) {
			in = n.input(b, calls[i].rows)
		}
		defer n.inputs.Put(in)
		return n.run(ctx, in)
	})
	if err != nil {
		b.Fatal(err)
	}
}
