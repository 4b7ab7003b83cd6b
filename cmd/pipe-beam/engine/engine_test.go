package engine

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// ran records which shards the Task of the tests has run.
var ran struct {
	sync.Mutex
	shards map[int]int
}

func TestMain(m *testing.M) {
	Worker(func(_ context.Context, payload []byte, shard int) (map[string]int64, error) {
		ran.Lock()
		defer ran.Unlock()
		ran.shards[shard]++
		if string(payload) == "fails" && shard == 3 {
			return nil, errors.New("shard 3 cannot be run")
		}
		return map[string]int64{"rows": int64(shard), string(payload): 1}, nil
	}, writeClosed)
	os.Exit(m.Run())
}

// Every shard is run, with the payload, and the counts are added up.
func TestEveryShardRuns(t *testing.T) {
	ran.shards = map[int]int{}
	counts, err := Run(t.Context(), Default(), []byte("payload"), []int{1, 2, 3, 40}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if counts["rows"] != 46 || counts["payload"] != 4 {
		t.Errorf("counts are %v", counts)
	}
	for _, shard := range []int{1, 2, 3, 40} {
		if ran.shards[shard] != 1 {
			t.Errorf("shard %d ran %d times", shard, ran.shards[shard])
		}
	}
}

func TestFailedShardFailsTheJob(t *testing.T) {
	ran.shards = map[int]int{}
	_, err := Run(t.Context(), Default(), []byte("fails"), []int{1, 3}, func(string) {})
	var job *JobError
	if !errors.As(err, &job) || !strings.Contains(err.Error(), "shard 3 cannot be run") {
		t.Errorf("error is %v", err)
	}
}

// Where no job server listens, or something else does, there is one error within reach.
func TestUnreachable(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := free.Addr().String()
	free.Close()
	for name, endpoint := range map[string]string{"nobody": nobody, "not a job server": silent.Addr().String()} {
		s := Settings{Runner: Flink, Endpoint: endpoint}
		begin := time.Now()
		_, err := Run(t.Context(), s, nil, []int{1}, func(string) {})
		var unreachable *UnreachableError
		if !errors.As(err, &unreachable) || unreachable.Lost || !strings.Contains(err.Error(), endpoint) || unreachable.Hint() == "" {
			t.Errorf("%s: error is %v", name, err)
		}
		if took := time.Since(begin); took > reach+5*time.Second {
			t.Errorf("%s: it took %v", name, took)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, s := range []Settings{Default(), {Runner: Flink, Endpoint: "host:1"}, {Runner: dataflow}, {Runner: spark, Endpoint: "host:1", Environment: docker, Config: "image"}} {
		if err := s.Validate(); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
	for _, s := range []Settings{
		{},
		{Runner: "hadoop"},
		{Runner: Flink},
		{Runner: Prism, Parallelism: -1},
		{Runner: Prism, Flags: []string{"x"}},
		{Runner: spark, Endpoint: "host:1", Environment: external},
		{Runner: Flink, Endpoint: "host:1", Environment: docker},
		{Runner: Prism, Environment: "loopback"},
	} {
		if s.Validate() == nil {
			t.Errorf("%+v is taken as right", s)
		}
	}
}

// An unknown flag of Beam is named, and nothing is run.
func TestUnknownFlag(t *testing.T) {
	s := Default()
	s.Flags = []string{"no_such_flag=1"}
	if _, err := Run(t.Context(), s, nil, []int{1}, func(string) {}); err == nil || !strings.Contains(err.Error(), "no_such_flag") {
		t.Errorf("error is %v", err)
	}
}
