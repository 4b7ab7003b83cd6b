package world

import (
	"context"
	"hash"
	"math"
	"math/rand/v2"
	"strings"
	"sync"

	"pipe/internal/atomicfile"
	"pipe/internal/digest"
	"pipe/internal/storage"
	"pipe/pipeline/stage"
)

// fraudChunkRows is how many rows a worker generates in one chunk; about 2 MB at 394 columns.
const fraudChunkRows = 2048

// fraudOrder assigns a cell to every row. The counts of the cells are their shares, rounded, and not drawn: a file of
// the competition's size has the competition's number of identities. The seed shuffles which rows get which cell.
func fraudOrder(rows int, seed uint64) []uint8 {
	order := make([]uint8, 0, rows)
	sum := 0.0
	for cell := range fraudCells {
		sum += fraudCells[cell].Share
		for end := int(math.Round(sum * float64(rows))); len(order) < end; {
			order = append(order, uint8(cell))
		}
	}
	for len(order) < rows { // shares sum to 1 up to rounding
		order = append(order, cellHint)
	}
	r := rand.New(rand.NewPCG(seed, math.MaxUint64))
	r.Shuffle(rows, func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}

// fraudChunk is a run of finished rows.
type fraudChunk struct {
	text   [2][]byte // of the transaction and the identity file
	rows   [fraudCellCount]int
	frauds [fraudCellCount]int
}

// fraudMaker generates chunks. Several can be generated concurrently.
type fraudMaker struct {
	o     *FraudOptions
	order []uint8
	spare sync.Pool // chunks whose memory is reused
}

func (m *fraudMaker) chunks() int { return (len(m.order) + fraudChunkRows - 1) / fraudChunkRows }

// make returns the chunk of the given index.
func (m *fraudMaker) make(index int) *fraudChunk {
	c, _ := m.spare.Get().(*fraudChunk)
	if c == nil {
		c = new(fraudChunk)
	}
	*c = fraudChunk{text: [2][]byte{c.text[0][:0], c.text[1][:0]}}
	var r fraudRow
	for n := index * fraudChunkRows; n < min(len(m.order), (index+1)*fraudChunkRows); n++ {
		r.begin(m.o, n, int(m.order[n]))
		c.rows[r.cell]++
		c.frauds[r.cell] += r.label
		c.text[0] = append(r.appendTransaction(c.text[0], m.o), '\n')
		if r.hasIdentity() {
			c.text[1] = append(r.appendIdentity(c.text[1], m.o.Seed), '\n')
		}
	}
	return c
}

// run generates all chunks with the given number of workers and passes them to take in order. It stops at the first
// error and when ctx ends, and returns after its goroutines have ended.
func (m *fraudMaker) run(ctx context.Context, workers int, take func(*fraudChunk) error) error {
	ctx, stop := context.WithCancel(ctx)
	var wait sync.WaitGroup
	defer wait.Wait()
	defer stop()
	type job struct {
		index int
		done  chan *fraudChunk
	}
	jobs, inOrder := make(chan job), make(chan job, 2*workers) // the second bounds how many chunks are made ahead
	wait.Go(func() {
		defer close(jobs)
		defer close(inOrder)
		for i := range m.chunks() {
			j := job{i, make(chan *fraudChunk, 1)}
			for _, to := range []chan job{inOrder, jobs} {
				select {
				case to <- j:
				case <-ctx.Done():
					return
				}
			}
		}
	})
	for range workers {
		wait.Go(func() {
			for j := range jobs {
				j.done <- m.make(j.index)
			}
		})
	}
	for j := range inOrder {
		select {
		case c := <-j.done:
			if err := take(c); err != nil {
				return err
			}
			m.spare.Put(c)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return ctx.Err()
}

// fraudCSV is one of the two output files, with its part of the report.
type fraudCSV struct {
	*atomicfile.Buffered
	sum   hash.Hash
	bytes int64
}

func createFraudCSV(ctx context.Context, path storage.Location, header []string) (*fraudCSV, error) {
	f, err := atomicfile.CreateBufferedAt(ctx, path)
	if err != nil {
		return nil, err
	}
	out := &fraudCSV{Buffered: f, sum: digest.New()}
	return out, out.add([]byte(strings.Join(header, ",") + "\n"))
}

// add appends rows.
func (f *fraudCSV) add(b []byte) error {
	f.sum.Write(b)
	f.bytes += int64(len(b))
	_, err := f.Write(b)
	return err
}

func (f *fraudCSV) info(rows int) FraudFile {
	return FraudFile{Path: f.Path, Rows: rows, Bytes: f.bytes, Digest: digest.Sum(f.sum)}
}

// writeFraud writes both files.
func writeFraud(ctx context.Context, o FraudOptions, p stage.Progress) (*FraudReport, error) {
	headers := [2][]string{fraudTransactionHeader(o.Columns), fraudIdentityHeader()}
	var files [2]*fraudCSV
	for i, path := range o.Files() {
		f, err := createFraudCSV(ctx, path, headers[i])
		if f != nil {
			defer f.Abort()
		}
		if err != nil {
			return nil, err
		}
		files[i] = f
	}
	report := newFraudReport(&o)
	maker := &fraudMaker{o: &o, order: fraudOrder(o.Rows, o.Seed)}
	p.Start(int64(o.Rows), "generate")
	err := maker.run(ctx, o.Workers, func(c *fraudChunk) error {
		p.Add(int64(report.count(c)))
		for i, f := range files {
			if err := f.add(c.text[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, f := range files {
		if err := f.Commit(); err != nil {
			return nil, err
		}
		report.Files = append(report.Files, f.info([]int{o.Rows, report.Identities}[i]))
	}
	return report, nil
}
