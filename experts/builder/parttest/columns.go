package parttest

import (
	"testing"

	"pipe/internal/judge"
)

// AddColumns writes a Parquet copy next to each CSV file of a folder. The copy has additional columns that cannot be read:
// some of unsupported types, and one of lists, a supported type, that contain a null. It returns the names of these
// columns. It needs Python with PyArrow.
func AddColumns(t testing.TB, folder string, files ...string) []string {
	t.Helper()
	judge.Run(t, judge.Python(t, "pyarrow"), folder, addColumns, files...)
	return []string{"day", "moment", "clock", "amount", "both", "pairs", "deep", "holes"}
}

const addColumns = `
import sys, datetime, decimal, pyarrow as pa, pyarrow.csv, pyarrow.parquet as pq
for name in sys.argv[1:]:
    t = pa.csv.read_csv(name, convert_options=pa.csv.ConvertOptions(strings_can_be_null=False))
    n = t.num_rows
    extra = {
        "day": pa.array([datetime.date(2024, 1, 1)] * n, pa.date32()),
        "moment": pa.array([datetime.datetime(2024, 1, 1)] * n, pa.timestamp("us")),
        "clock": pa.array([datetime.time(1)] * n, pa.time64("us")),
        "amount": pa.array([decimal.Decimal("1.50")] * n, pa.decimal128(9, 2)),
        "both": pa.array([{"a": 1, "b": 2.5}] * n),
        "pairs": pa.array([[("a", 1)]] * n, pa.map_(pa.string(), pa.int32())),
        "deep": pa.array([[[1.0], [2.0]]] * n),
        "holes": pa.array([[1.0, None]] * n),
    }
    for k, v in extra.items():
        t = t.append_column(k, v)
    pq.write_table(t, name[:-4] + ".parquet")
`
