package storage

import (
	"context"
	"errors"
	"io"
	"sync"
)

// The cache of an Object. Columns of a Parquet file are read side by side, so blocks from many places of the object are cached.
const (
	blockSize  = 1 << 20
	mostBlocks = 64
)

// Object is an open remote object. ReadAt fetches blocks of it and keeps the last ones, so that a Parquet file costs few
// requests. Read streams from where Seek has put it, with one request. ReadAt is safe for concurrent use.
type Object struct {
	ctx    context.Context // of the requests, as the methods of io take none
	folder *Folder
	info   Info
	stream io.ReadCloser
	at     int64 // of the stream

	mu     sync.Mutex
	blocks map[int64]*block
	clock  int64
}

// block is a part of an object that is being fetched or is there.
type block struct {
	ready chan struct{}
	data  []byte
	err   error
	used  int64
}

// Object opens a remote object with one request. All later requests stop with ctx.
func (l Location) Object(ctx context.Context) (*Object, error) {
	folder, name, err := l.openParent(ctx)
	if err != nil {
		return nil, err
	}
	info, err := folder.Stat(ctx, name)
	if err != nil {
		return nil, err
	}
	return &Object{ctx: ctx, folder: folder, info: info, blocks: map[int64]*block{}}, nil
}

// Name returns the URL, without parameters.
func (o *Object) Name() string { return o.folder.at.Join(o.info.Name).String() }

// Info describes the object as it was when it was opened.
func (o *Object) Info() Info { return o.info }

// Read reads on from the beginning.
func (o *Object) Read(p []byte) (int, error) {
	if o.stream == nil {
		if o.at >= o.info.Size {
			return 0, io.EOF
		}
		in, err := o.open(o.at, -1)
		if err != nil {
			return 0, err
		}
		o.stream = in
	}
	n, err := o.stream.Read(p)
	o.at += int64(n)
	return n, err
}

// Seek moves the next Read. It costs a request if it moves.
func (o *Object) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += o.at
	case io.SeekEnd:
		offset += o.info.Size
	}
	if offset < 0 {
		return 0, errSeek
	}
	if offset != o.at && o.stream != nil {
		_ = o.stream.Close() // its rest is not wanted
		o.stream = nil
	}
	o.at = offset
	return offset, nil
}

var errSeek = errors.New("seek before the beginning")

// Close ends the stream of Read and drops the cache.
func (o *Object) Close() error {
	o.mu.Lock()
	o.blocks = map[int64]*block{}
	o.mu.Unlock()
	if o.stream == nil {
		return nil
	}
	return o.stream.Close()
}

// open starts a request. An object that was replaced since it was opened is an error, for its parts would not fit.
func (o *Object) open(from, length int64) (io.ReadCloser, error) {
	in, err := o.folder.Read(o.ctx, o.info.Name, from, length)
	if err != nil {
		return nil, err
	}
	if tagged, ok := in.(Tagged); ok && tagged.Tag() != "" && o.info.Tag != "" && tagged.Tag() != o.info.Tag {
		in.Close()
		return nil, &Error{Op: "read", URL: o.Name(), Err: errChanged}
	}
	return in, nil
}

// ReadAt fills p from a position on, and returns io.EOF where the object ends before.
func (o *Object) ReadAt(p []byte, at int64) (n int, err error) {
	end := min(at+int64(len(p)), o.info.Size)
	if at >= end {
		if len(p) == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	blocks := o.need(at/blockSize, (end-1)/blockSize)
	for i, b := range blocks {
		<-b.ready
		if b.err != nil {
			return n, b.err
		}
		from := max(0, at-(at/blockSize+int64(i))*blockSize)
		n += copy(p[n:], b.data[from:])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// need returns the blocks from first to last and fetches those that are not there, neighbours with one request.
func (o *Object) need(first, last int64) []*block {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all, missing []*block
	start := first
	fetch := func(next int64) {
		if len(missing) > 0 {
			go o.fetch(start, missing)
		}
		missing, start = nil, next+1
	}
	for i := first; i <= last; i++ {
		b := o.blocks[i]
		if b == nil {
			b = &block{ready: make(chan struct{})}
			o.blocks[i] = b
			missing = append(missing, b)
		} else {
			fetch(i)
		}
		o.clock++
		b.used = o.clock
		all = append(all, b)
	}
	fetch(last)
	o.forget()
	return all
}

// forget drops the blocks that were not used for the longest time. A reader that waits for a block keeps it.
func (o *Object) forget() {
	for len(o.blocks) > mostBlocks {
		oldest, when := int64(0), o.clock+1
		for i, b := range o.blocks {
			if b.used < when {
				oldest, when = i, b.used
			}
		}
		delete(o.blocks, oldest)
	}
}

// fetch fills neighbouring blocks, each as soon as its bytes are there.
func (o *Object) fetch(first int64, blocks []*block) {
	from := first * blockSize
	in, err := o.open(from, min(int64(len(blocks))*blockSize, o.info.Size-from))
	if err == nil {
		defer in.Close()
	}
	for i, b := range blocks {
		if err == nil {
			b.data = make([]byte, min(blockSize, o.info.Size-from-int64(i)*blockSize))
			_, err = io.ReadFull(in, b.data)
		}
		if b.err = err; err != nil {
			o.drop(first + int64(i))
		}
		close(b.ready)
	}
}

func (o *Object) drop(i int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.blocks, i)
}
