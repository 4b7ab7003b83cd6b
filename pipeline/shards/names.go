package shards

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

// The folders of a work folder.
const (
	manifestName = "manifest.json"
	claimsName   = "claims/"
	partsName    = "parts/"
	doneName     = "done/"
	failedName   = "failed/"
	sharedName   = "shared/"
	clockName    = "clock/"
)

// shardDigits is the least number of digits of a shard in names.
const shardDigits = 6

func number(shard int) string { return fmt.Sprintf("%0*d", shardDigits, shard) }

func doneOf(shard int) string { return doneName + number(shard) + ".json" }

func claimOf(shard, attempt int) string {
	return fmt.Sprintf("%s%s.%d", claimsName, number(shard), attempt)
}

func failedOf(shard, attempt int) string {
	return fmt.Sprintf("%s%s.%d.json", failedName, number(shard), attempt)
}

// partOf names a file of a shard by its content.
func partOf(shard int, sum, file string) string {
	return partsName + number(shard) + "-" + strings.TrimPrefix(sum, "sha256:")[:32] + path.Ext(file)
}

// shardOf reads the shard of a name after its folder; end is what follows the digits.
func shardOf(name, folder string) (shard int, end string, ok bool) {
	rest, ok := strings.CutPrefix(name, folder)
	if !ok {
		return 0, "", false
	}
	digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
	shard, err := strconv.Atoi(digits)
	return shard, rest[len(digits):], err == nil && number(shard) == digits
}

// attemptOf reads shard and attempt of a claim, or of a failure, whose name ends in suffix.
func attemptOf(name, folder, suffix string) (shard, attempt int, ok bool) {
	shard, end, ok := shardOf(name, folder)
	text, dot := strings.CutPrefix(strings.TrimSuffix(end, suffix), ".")
	attempt, err := strconv.Atoi(text)
	return shard, attempt, ok && dot && err == nil && attempt > 0 && end == "."+strconv.Itoa(attempt)+suffix
}
