// Package tablefile reads tables that other programs wrote, in batches of columns and with bounded memory: CSV, TSV and
// JSON lines, each also gzipped, Parquet files and folders of Parquet parts. A Table gives cells, a TextReader gives
// strings.
package tablefile
