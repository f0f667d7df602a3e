-- SPDX-License-Identifier: GPL-2.0-or-later
-- Ten questions to the tables of jobs.sql. `ask.py` runs them and prints the answers.

-- 1. What did each account use, and what did it emit?
SELECT account, count(*) AS jobs, round(sum(energy.total_j) / 3.6e6, 1) AS kwh,
       round(sum(emissions.co2e_g) / 1000, 1) AS co2e_kg
FROM job GROUP BY account ORDER BY kwh DESC NULLS LAST, account LIMIT 5;

-- 2. Who are the users with most energy?
SELECT username, count(*) AS jobs, round(sum(energy.total_j) / 3.6e6, 1) AS kwh,
       round(100 * sum(energy.total_j) / sum(sum(energy.total_j)) OVER (), 1) AS percent
FROM job GROUP BY username ORDER BY kwh DESC NULLS LAST, username LIMIT 5;

-- 3. Where is energy wasted?
SELECT account, round(sum(waste_j) / 3.6e6, 1) AS wasted_kwh,
       round(100 * sum(waste_j) / sum(energy.total_j), 1) AS percent
FROM job GROUP BY account ORDER BY wasted_kwh DESC NULLS LAST, account LIMIT 5;

-- 4. What became of the jobs, and what did it cost?
SELECT state, count(*) AS jobs, round(sum(energy.total_j) / 3.6e6, 1) AS kwh
FROM job GROUP BY state ORDER BY jobs DESC, state;

-- 5. How much was used in each hour? By the end of the job, as in the bill.
SELECT strftime(hour, '%Y-%m-%d %H:00') AS hour_utc, count(*) AS jobs, round(sum(energy.total_j) / 3.6e6, 1) AS kwh,
       round(sum(emissions.co2e_g) / 1000, 1) AS co2e_kg
FROM job GROUP BY hour ORDER BY hour LIMIT 5;

-- 6. How well are CPUs used? By tenth of the CPU efficiency, weighted by CPU hours.
SELECT least(floor(10 * derived.cpu_efficiency), 9)::INTEGER * 10 AS percent_from, count(*) AS jobs,
       round(sum(elapsed * total_cpus) / 3600) AS cpu_hours
FROM job WHERE derived.cpu_efficiency IS NOT NULL GROUP BY percent_from ORDER BY percent_from;

-- 7. Which jobs used most?
SELECT jobid, username, job_name, state, total_cpus AS cpus, round(energy.total_j / 3.6e6, 1) AS kwh
FROM job ORDER BY energy.total_j DESC NULLS LAST, jobid LIMIT 5;

-- 8. How many watts does a CPU of a small, and of a large job draw?
SELECT total_cpus AS cpus, count(*) AS jobs,
       round(sum(energy.total_j) / sum(elapsed * total_cpus) FILTER (energy.total_j IS NOT NULL), 2) AS watts_per_cpu
FROM job GROUP BY total_cpus ORDER BY total_cpus;

-- 9. How far can the values be trusted?
SELECT coalesce(energy.quality, 'unknown') AS quality, count(*) AS jobs,
       count(*) FILTER (energy.total_j IS NULL) AS without_energy,
       count(*) FILTER (emissions.co2e_g IS NULL) AS without_co2e,
       count(*) FILTER (NOT energy.final) AS not_final
FROM job GROUP BY quality ORDER BY jobs DESC;

-- 10. Which steps use the energy? Without the extern step, which has the whole job.
SELECT step.name, count(*) AS steps, round(sum(step.energy.total_j) / 3.6e6, 1) AS kwh
FROM step WHERE step.stepid <> 4294967292 GROUP BY step.name ORDER BY kwh DESC NULLS LAST, step.name LIMIT 5;
