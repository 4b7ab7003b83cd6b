package imports

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pipe/internal/judge"
	"pipe/internal/storage"
)

// scaleTables writes outcomes of 20 experts in long form, and features of the instances.
const scaleTables = `
import duckdb, sys
instances, order = int(sys.argv[1]), {"id": "i, e", "expert": "e, i", "none": "hash(i * 1000 + e)"}[sys.argv[2]]
c = duckdb.connect()
c.execute("set threads = 2; set enable_progress_bar = false; set memory_limit = '6GB'; set temp_directory = '.'")
c.execute(f"""copy (select printf('q%07d', i) as id, printf('expert-%02d', e) as expert, ((hash(i * 31 + e) % 1000) / 1000.0)::float as loss
  from range({instances}) t(i), range(20) s(e) order by {order}) to 'outcomes.parquet' (format parquet)""")
c.execute(f"""copy (select printf('q%07d', i) as id, (hash(i) % 1000 / 1000.0)::float as x0, (hash(i + 7) % 1000 / 1000.0)::float as x1,
  (hash(i + 9) % 1000 / 1000.0)::double as x2, (hash(i + 11) % 50)::int as x3 from range({instances}) t(i)) to 'features.parquet' (format parquet)""")
`

// scalePivot makes one row per instance of them, joined with its features.
const scalePivot = `
import duckdb, sys, time, resource
c = duckdb.connect()
c.execute("set threads = 2; set enable_progress_bar = false; set memory_limit = '6GB'; set temp_directory = '.'")
start = time.time()
losses = ", ".join(f"max(loss) filter (expert = 'expert-{e:02d}')" for e in range(20))
c.execute(f"""copy (select o.id, [x0, x1, x2, x3]::float[] as features, loss
  from (select id, [{losses}] as loss from 'outcomes.parquet' group by id) o join 'features.parquet' f using (id))
  to 'pivot.parquet' (format parquet, compression uncompressed)""")
u = resource.getrusage(resource.RUSAGE_SELF)
print(time.time() - start, u.ru_utime + u.ru_stime, u.ru_maxrss)
`

// scaleCheck counts the rows of the tensor that are not in the pivot, with the same features and losses.
const scaleCheck = `
import duckdb
c = duckdb.connect()
c.execute("set threads = 2; set enable_progress_bar = false; set memory_limit = '6GB'; set temp_directory = '.'")
print(*c.execute("""select count(*), count(*) filter (p.id is null or p.loss <> t.loss or p.features <> t.features)
  from 'costs.parquet' t left join 'pivot.parquet' p using (id)""").fetchone())
`

// TestImportScale imports outcomes in long form, and compares the tensor with the pivot that DuckDB makes of them. Set
// PIPE_SCALE to a number of outcomes, such as 100000000, for speed and memory; PIPE_SCALE_ORDER is the order of the
// outcomes: id, expert, or none.
func TestImportScale(t *testing.T) {
	outcomes, order := 40_000, "none"
	if text := os.Getenv("PIPE_SCALE"); text != "" {
		var err error
		if outcomes, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
		order = "id"
	}
	if text := os.Getenv("PIPE_SCALE_ORDER"); text != "" {
		order = text
	}
	python, dir := judge.Python(t, "duckdb"), t.TempDir()
	judge.Run(t, python, dir, scaleTables, strconv.Itoa(outcomes/20), order)
	config := filepath.Join(dir, "c.yaml")
	var experts []string
	for e := range 20 {
		experts = append(experts, fmt.Sprintf("expert-%02d", e))
	}
	err := os.WriteFile(config, []byte("outcomes: {file: outcomes.parquet, columns: {id: id, expert: expert, loss: loss}}\n"+
		"experts: ["+strings.Join(experts, ", ")+"]\nfeatures: [{file: features.parquet, id: id, columns: [x*]}]\n"), 0o666)
	if err != nil {
		t.Fatal(err)
	}
	start, before := time.Now(), cpuTime(t)
	r, err := Run(t.Context(), Options{Config: storage.File(config), Out: storage.File(filepath.Join(dir, "costs.parquet"))}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ours := scaleRun{time.Since(start).Seconds(), (cpuTime(t) - before).Seconds(), peakMemory(t)}
	var theirs scaleRun
	scan(t, judge.Run(t, python, dir, scalePivot), &theirs.wall, &theirs.cpu, &theirs.kilobytes)
	var rows, wrong int
	scan(t, judge.Run(t, python, dir, scaleCheck), &rows, &wrong)
	if r.OutcomeRows != outcomes/20*20 || rows != outcomes/20 || wrong > 0 {
		t.Errorf("%d outcomes, %d rows, %d of them wrong", r.OutcomeRows, rows, wrong)
	}
	t.Logf("pipe import: %s", ours.text(outcomes))
	t.Logf("DuckDB:      %s", theirs.text(outcomes))
	t.Logf("pipe takes %.2f times as long as DuckDB, %.2f times the CPU", ours.wall/theirs.wall, ours.cpu/theirs.cpu)
}

// scaleRun is what a run took.
type scaleRun struct{ wall, cpu, kilobytes float64 }

func (r scaleRun) text(outcomes int) string {
	return fmt.Sprintf("%.1f s, %.2f M outcomes/s, %.1f s of CPU, %.2f GB", r.wall, float64(outcomes)/r.wall/1e6, r.cpu, r.kilobytes/1e6)
}

func scan(t *testing.T, text string, into ...any) {
	t.Helper()
	if _, err := fmt.Sscan(text, into...); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
}

// cpuTime is the time that the process has run on all cores.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peakMemory is the most memory that the process has taken, in units of 1,000 bytes; 0 where it is not known.
func peakMemory(t *testing.T) float64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	var kib float64
	for line := range strings.Lines(string(status)) {
		if n, _ := fmt.Sscanf(line, "VmHWM: %f kB", &kib); n == 1 {
			break
		}
	}
	return kib * 1.024
}
