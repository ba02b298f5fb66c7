CREATE TABLE flights (
    `year` INT NOT NULL, `month` INT NOT NULL, `day` INT NOT NULL,
    dep_time INT, sched_dep_time INT NOT NULL, dep_delay INT,
    arr_time INT, sched_arr_time INT NOT NULL, arr_delay INT,
    carrier STRING NOT NULL, flight INT NOT NULL, tailnum STRING, origin STRING NOT NULL, dest STRING NOT NULL,
    air_time INT, distance INT NOT NULL, `hour` INT NOT NULL, `minute` INT NOT NULL, time_hour TIMESTAMP_LTZ(0) NOT NULL
) WITH ('bucket.num' = '4', 'table.datalake.enabled' = 'true', 'table.datalake.freshness' = '5s');

CREATE TABLE weather (
    origin STRING NOT NULL, `year` INT NOT NULL, `month` INT NOT NULL, `day` INT NOT NULL, `hour` INT NOT NULL,
    temp DOUBLE, dewp DOUBLE, humid DOUBLE, wind_dir INT, wind_speed DOUBLE, wind_gust DOUBLE, precip DOUBLE,
    pressure DOUBLE, visib DOUBLE, time_hour TIMESTAMP_LTZ(0) NOT NULL
) WITH ('bucket.num' = '4', 'table.datalake.enabled' = 'true', 'table.datalake.freshness' = '5s');

CREATE TABLE planes (
    tailnum STRING, `year` INT, type STRING, manufacturer STRING, model STRING, engines INT, seats INT, speed INT,
    engine STRING,
    PRIMARY KEY (tailnum) NOT ENFORCED
) WITH ('bucket.num' = '4', 'table.datalake.enabled' = 'true', 'table.datalake.freshness' = '5s');

CREATE TABLE airlines (
    carrier STRING, name STRING,
    PRIMARY KEY (carrier) NOT ENFORCED
) WITH ('bucket.num' = '1', 'table.datalake.enabled' = 'true', 'table.datalake.freshness' = '5s');

CREATE TABLE airports (
    faa STRING, name STRING, lat DOUBLE, lon DOUBLE, alt INT, tz INT, dst STRING, tzone STRING,
    PRIMARY KEY (faa) NOT ENFORCED
) WITH ('bucket.num' = '4', 'table.datalake.enabled' = 'true', 'table.datalake.freshness' = '5s');
