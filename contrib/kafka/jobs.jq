# SPDX-License-Identifier: GPL-2.0-or-later
# A topic's values, from the beginning on, to one whole record per job:
#   kcat -b HOST -t ceems.jobs -C -e -q -u | jq -cRn -f jobs.jq
# The last of a key counts; steps of further parts go into their record, and a job of which parts are
# missing has no line. What others wrote there is left out.
reduce (inputs | fromjson? | objects) as $m ({};
	if $m.schema == "ceems.job.v1" and ($m.key | type) == "string" and ($m.parts | type) == "number"
	then .[$m.key].record = $m
	elif $m.schema == "ceems.steps.v1" and ($m.job_key | type) == "string" and ($m.part | type) == "number"
	then .[$m.job_key].parts[$m.part | tostring] = $m.steps
	else . end)
| .[] | select(.record) | . as $job
| .record.parts as $n
| select($n <= (.parts | length) + 1)
| [range(1; $n) | $job.parts[tostring]] as $rest
| select($rest | all)
| .record | if $n > 1 then .steps += ($rest | add) else . end
| select(.steps == null or (.steps | length) == .steps_total)
